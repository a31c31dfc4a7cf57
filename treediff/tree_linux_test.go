package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// snapshot describes a tree, a line for each path: type, mode, owner, time of the
// last change, extended attributes, content or target, and the first path of the
// file that it is a name of.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	lines := map[string]string{}
	first := map[uint64]string{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		what, err := substance(path, &st)
		if err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			if first[st.Ino] == "" {
				first[st.Ino] = rel
			}
			what += " = " + first[st.Ino]
		}
		lines[rel] = fmt.Sprintf("%o %d:%d %d.%09d %q %s", st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec, attributes(t, path), what)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func substance(path string, st *unix.Stat_t) (string, error) {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		data, err := os.ReadFile(path)
		return fmt.Sprintf("%d %x", len(data), sha256.Sum256(data)), err
	case unix.S_IFLNK:
		return os.Readlink(path)
	case unix.S_IFCHR, unix.S_IFBLK:
		return fmt.Sprint(st.Rdev), nil
	}
	return "", nil
}

func attributes(t *testing.T, path string) []string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(path, buf)
	if err != nil {
		t.Fatal(path, err)
	}
	var list []string
	for name := range strings.SplitSeq(string(buf[:n]), "\x00") {
		if name != "" {
			value := make([]byte, 4096)
			n, err := unix.Lgetxattr(path, name, value)
			if err != nil {
				t.Fatal(path, err)
			}
			list = append(list, name+"="+string(value[:n]))
		}
	}
	slices.Sort(list)
	return list
}

// differing lists the paths in which two snapshots differ.
func differing(a, b map[string]string) []string {
	var list []string
	for path, line := range a {
		if b[path] != line {
			list = append(list, fmt.Sprintf("%q: %s, and %s", path, line, b[path]))
		}
	}
	for path, line := range b {
		if _, ok := a[path]; !ok {
			list = append(list, fmt.Sprintf("%q: not there, and %s", path, line))
		}
	}
	slices.Sort(list)
	return list
}
