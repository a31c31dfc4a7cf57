//go:build linux

package host

import (
	"context"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// file is an open file below.
type file struct{ *os.File }

func newFile(fd int) *file { return &file{os.NewFile(uintptr(fd), "")} }

func (f *file) fd() int { return int(f.Fd()) }

func (f *file) Release(context.Context) syscall.Errno { return errno(f.Close()) }

// flagsBelow are the flags with which the file below is opened: the kernel above sees
// to direct I/O and appending, and a truncation is logged.
func flagsBelow(flags uint32) int {
	return int(flags)&^(unix.O_DIRECT|unix.O_APPEND|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CREAT|unix.O_EXCL) | unix.O_CLOEXEC
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fd, err := unix.Open(n.self(), flagsBelow(flags), 0)
	if err != nil {
		return nil, 0, errno(err)
	}
	f := newFile(fd)
	if flags&unix.O_TRUNC != 0 {
		if e := n.change(Op{Kind: Truncate}, func() error { return unix.Ftruncate(fd, 0) }); e != 0 {
			f.Close()
			return nil, 0, e
		}
	}
	return f, 0, 0
}

// Readdir, and not a handle of the stream's own: that would take a sync of the
// directory for itself.
func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	fd, err := unix.Openat(n.fd(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errno(err)
	}
	return fs.NewLoopbackDirStreamFd(fd)
}

func (n *node) Read(_ context.Context, f fs.FileHandle, buf []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	m, err := unix.Pread(f.(*file).fd(), buf, off)
	if err != nil {
		return nil, errno(err)
	}
	return fuse.ReadResultData(buf[:m]), 0
}

func (n *node) Write(_ context.Context, f fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	e := n.change(Op{Kind: Write, Off: off, Data: data}, func() error {
		m, err := unix.Pwrite(f.(*file).fd(), data, off)
		if err == nil && m < len(data) {
			err = unix.ENOSPC
		}
		return err
	})
	return uint32(len(data)), e
}

func (n *node) Lseek(_ context.Context, f fs.FileHandle, off uint64, whence uint32) (uint64, syscall.Errno) {
	at, err := unix.Seek(f.(*file).fd(), int64(off), int(whence))
	return uint64(at), errno(err)
}

func (n *node) Allocate(_ context.Context, f fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	op := Op{Kind: Fallocate, Mode: mode, Off: int64(off), Len: int64(size)}
	return n.change(op, func() error { return unix.Fallocate(f.(*file).fd(), mode, int64(off), int64(size)) })
}

// Fsync is fsync and fdatasync, of directories too.
func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno { return n.rec.sync(n.ino) }
