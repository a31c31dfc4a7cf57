//go:build linux

package linux

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout of struct fiemap with its extents; x/sys does not have it.
type fiemap struct {
	start, length uint64
	flags, mapped uint32
	count, _      uint32
	extents       [64]fiemapExtent
}

type fiemapExtent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

// The call and the flags that matter, as in linux/fiemap.h.
const (
	ioctlFiemap     = 0xc020660b // FS_IOC_FIEMAP on amd64 and arm64
	extentLast      = 0x1
	extentUnknown   = 0x2   // nowhere yet
	extentInline    = 0x200 // among the filesystem's own data
	extentUnwritten = 0x800 // reads as zeros, whatever is there
)

// fileExtents calls visit for each stretch of the device that a file has; written is
// false for those that were only set aside for it.
func fileExtents(f *os.File, visit func(at, n int64, written bool)) error {
	var req fiemap
	for start := uint64(0); ; {
		req = fiemap{start: start, length: ^uint64(0) - start, count: uint32(len(req.extents))}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), ioctlFiemap, uintptr(unsafe.Pointer(&req)))
		if errors.Is(errno, unix.EINTR) {
			continue
		}
		if errno != 0 {
			return &os.PathError{Op: "fiemap", Path: f.Name(), Err: errno}
		}
		for _, e := range req.extents[:req.mapped] {
			if e.flags&(extentUnknown|extentInline) == 0 {
				visit(int64(e.physical), int64(e.length), e.flags&extentUnwritten == 0)
			}
			start = e.logical + e.length
			if e.flags&extentLast != 0 {
				return nil
			}
		}
		if req.mapped == 0 {
			return nil
		}
	}
}
