//go:build linux

package testscripts

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// treehashMain is treehash [-l] DIR: prints the hash of everything in DIR that a
// restore must bring back, with -l the lines that are hashed.
func treehashMain() {
	log.SetFlags(0)
	list := flag.Bool("l", false, "print the lines")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: treehash [-l] DIR")
	}
	h := hasher{links: map[uint64]string{}}
	err := os.Chdir(flag.Arg(0))
	if err == nil {
		err = filepath.WalkDir(".", h.add)
	}
	if err != nil {
		log.Fatalf("treehash: %v", err)
	}
	if *list {
		fmt.Print(strings.Join(h.lines, ""))
		return
	}
	fmt.Printf("%x\n", sha256.Sum256([]byte(strings.Join(h.lines, ""))))
}

// hasher describes a tree, a line for each file: name, mode with the type, owners,
// modification time, extended attributes, what it holds, and for the second and
// later names of a file the first one.
type hasher struct {
	lines []string
	links map[uint64]string // inode number to first name
}

func (h *hasher) add(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return err
	}
	attrs, err := xattrs(path)
	if err != nil {
		return err
	}
	what, err := h.content(path, &st)
	if err != nil {
		return err
	}
	if first, ok := h.links[st.Ino]; ok {
		what = fmt.Sprintf("link to %q", first)
	} else if st.Nlink > 1 && !d.IsDir() {
		h.links[st.Ino] = path
	}
	h.lines = append(h.lines, fmt.Sprintf("%q %o %d:%d %d.%09d %q %s\n",
		path, st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec, attrs, what))
	return nil
}

func (h *hasher) content(path string, st *syscall.Stat_t) (string, error) {
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return contentHash(path)
	case syscall.S_IFLNK:
		target, err := os.Readlink(path)
		return fmt.Sprintf("-> %q", target), err
	case syscall.S_IFCHR, syscall.S_IFBLK:
		return fmt.Sprintf("device %x", st.Rdev), nil
	}
	return "", nil
}

func contentHash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return fmt.Sprintf("%d bytes %x", n, sum.Sum(nil)), err
}

// xattrs gives name=value of each extended attribute, sorted; symbolic links,
// which can have none of a user's, are not asked.
func xattrs(path string) ([]string, error) {
	if st, err := os.Lstat(path); err != nil || st.Mode()&fs.ModeSymlink != 0 {
		return nil, err
	}
	buf := make([]byte, 64<<10)
	n, err := syscall.Listxattr(path, buf)
	if err != nil {
		return nil, &os.PathError{Op: "listxattr", Path: path, Err: err}
	}
	var attrs []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := syscall.Getxattr(path, name, value)
		if err != nil {
			return nil, &os.PathError{Op: "getxattr", Path: path, Err: err}
		}
		attrs = append(attrs, name+"="+string(value[:n]))
	}
	slices.Sort(attrs)
	return attrs, nil
}
