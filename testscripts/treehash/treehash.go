//go:build linux

// Package treehash gives the hash of everything in a tree that a restore must bring
// back.
package treehash

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Sum gives the hash of the tree in dir, in hex.
func Sum(dir string) (string, error) {
	lines, err := Lines(dir)
	return sum(lines), err
}

// Timeless is Sum without the modification times.
func Timeless(dir string) (string, error) {
	lines, err := describe(dir, false)
	return sum(lines), err
}

func sum(lines []string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, ""))))
}

// Lines describes the tree in dir, a line for each file: name, mode with the type,
// owners, modification time, extended attributes, what it holds, and for the second
// and later names of a file the first one.
func Lines(dir string) ([]string, error) { return describe(dir, true) }

func describe(dir string, times bool) ([]string, error) {
	h := hasher{root: dir, times: times, links: map[uint64]string{}}
	err := filepath.WalkDir(dir+"/.", h.add) // a symbolic link to it, too
	return h.lines, err
}

type hasher struct {
	root  string
	times bool
	lines []string
	links map[uint64]string // inode number to first name
}

func (h *hasher) add(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	attrs, err := xattrs(path)
	if err != nil {
		return err
	}
	what, err := content(path, &st)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(h.root, path)
	if err != nil {
		return err
	}
	if first, ok := h.links[st.Ino]; ok {
		what = fmt.Sprintf("link to %q", first)
	} else if st.Nlink > 1 && !d.IsDir() {
		h.links[st.Ino] = name
	}
	if !h.times {
		st.Mtim = syscall.Timespec{}
	}
	h.lines = append(h.lines, fmt.Sprintf("%q %o %d:%d %d.%09d %q %s\n",
		name, st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec, attrs, what))
	return nil
}

func content(path string, st *syscall.Stat_t) (string, error) {
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
