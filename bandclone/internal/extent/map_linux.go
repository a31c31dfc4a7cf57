package extent

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout of struct fiemap with its extents; x/sys does not have it.
type fiemap struct {
	start, length uint64
	flags, mapped uint32
	count, _      uint32
	extents       [batch]fiemapExtent
}

type fiemapExtent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

const (
	batch     = 128
	ioctlMap  = 0xc020660b // FS_IOC_FIEMAP: _IOWR('f', 11, struct fiemap) on amd64 and arm64
	flagFlush = 0x1        // FIEMAP_FLAG_SYNC
)

// Mapper asks for extents; it keeps its buffer between files.
type Mapper struct{ req fiemap }

// Map appends the extents of an open file to list, after flushing the file:
// what waits in the page cache of a shared extent has no place yet, and would
// be taken for the old data.
func (m *Mapper) Map(fd int, list []Extent) ([]Extent, error) {
	for start := uint64(0); ; {
		m.req = fiemap{start: start, length: ^uint64(0) - start, flags: flagFlush, count: batch}
		if err := m.ioctl(fd); err != nil {
			return nil, err
		}
		for _, e := range m.req.extents[:m.req.mapped] {
			list = append(list, Extent{e.logical, e.physical, e.length, e.flags})
			start = e.logical + e.length
		}
		if n := m.req.mapped; n == 0 || m.req.extents[n-1].flags&flagLast != 0 {
			return list, nil
		}
	}
}

func (m *Mapper) ioctl(fd int) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ioctlMap, uintptr(unsafe.Pointer(&m.req)))
		switch {
		case errors.Is(errno, unix.EINTR):
		case errno != 0:
			return errno
		default:
			return nil
		}
	}
}

// Sharing tells whether files of the filesystem that fd is on may share
// extents. Where it is not known they may.
func Sharing(fd int) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return true
	}
	return int64(st.Type) != unix.EXT4_SUPER_MAGIC && int64(st.Type) != unix.TMPFS_MAGIC
}
