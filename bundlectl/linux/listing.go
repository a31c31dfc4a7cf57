//go:build linux

package linux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bundle"
)

// listing is which files the bands in a directory are. It takes a millisecond less
// for each thousand of them than asking each band.
type listing struct {
	device uint64 // 0 where the numbers cannot be trusted
	inodes map[int64]uint64
}

// listBands lists a directory of bands.
func listBands(dir string) (*listing, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	l := &listing{device: uint64(st.Dev), inodes: map[int64]uint64{}}
	for buf := make([]byte, 64<<10); ; {
		n, err := unix.Getdents(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "list", Path: dir, Err: err}
		}
		if n == 0 {
			return l, nil
		}
		l.add(buf[:n], st.Ino)
	}
}

// add takes entries, each a struct linux_dirent64: u64 ino, s64 off, u16 reclen, u8
// type, name. Some FUSE and overlay filesystems make the numbers up. It is told by the
// directory's own entry.
func (l *listing) add(entries []byte, self uint64) {
	for ; len(entries) > 19; entries = entries[binary.NativeEndian.Uint16(entries[16:]):] {
		name, _, _ := bytes.Cut(entries[19:], []byte{0})
		ino := binary.NativeEndian.Uint64(entries)
		if string(name) == "." && ino != self {
			l.device = 0
		}
		if i, ok := bundle.ParseBandName(string(name)); ok {
			l.inodes[i] = ino
		}
	}
}

// unlike gives the bands, of n, that are not known to be one file in both, in order.
func (l *listing) unlike(other *listing, n int64) []int64 {
	alike := l.device == other.device && l.device != 0
	var list []int64
	for i, ino := range l.inodes {
		if (!alike || ino != other.inodes[i]) && i < n {
			list = append(list, i)
		}
	}
	for i := range other.inodes {
		if _, ok := l.inodes[i]; !ok && i < n {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}
