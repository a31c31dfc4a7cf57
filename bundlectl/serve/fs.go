//go:build linux

package serve

import (
	"errors"
	"log"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"agentfs.internal/bundlectl/bands"
)

// The tree has two nodes: a directory and in it the image.
const (
	rootNode  = fuse.FUSE_ROOT_ID
	imageNode = rootNode + 1
)

// cacheTime: the tree never changes but for the image's size, which the kernel
// asks for again when the loop device is told to grow.
const cacheTime = time.Hour

// imageFS serves one file, the image. Only the loop driver opens it.
type imageFS struct {
	fuse.RawFileSystem
	name  string
	image disk
	log   *log.Logger
}

func (f *imageFS) String() string { return "agentfs" }

func (f *imageFS) attr(node uint64, out *fuse.Attr) {
	out.Ino, out.Nlink, out.Blksize = node, 1, bands.Align
	if node == rootNode {
		out.Mode = syscall.S_IFDIR | 0o700
		return
	}
	out.Mode = syscall.S_IFREG | 0o600
	out.Size = uint64(f.image.Size())
	out.Blocks = out.Size / 512
}

// Lookup finds the image.
func (f *imageFS) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if in.NodeId != rootNode || name != f.name {
		return fuse.ENOENT
	}
	out.NodeId = imageNode
	out.SetEntryTimeout(cacheTime)
	f.attr(imageNode, &out.Attr)
	return fuse.OK
}

// GetAttr tells the size.
func (f *imageFS) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	f.attr(in.NodeId, &out.Attr)
	return fuse.OK
}

// Open opens the image. Its pages may be kept: nobody else changes it. Not with
// FOPEN_DIRECT_IO: loop devices of older kernels hang on such files.
func (f *imageFS) Open(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	return fuse.OK
}

// Read reads from the bands.
func (f *imageFS) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n := max(min(int64(len(buf)), f.image.Size()-int64(in.Offset)), 0)
	if err := f.image.ReadAt(buf[:n], int64(in.Offset)); err != nil {
		return nil, f.status("read", in.Offset, err)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

// Write writes to the bands.
func (f *imageFS) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	if err := f.image.WriteAt(data, int64(in.Offset)); err != nil {
		return 0, f.status("write", in.Offset, err)
	}
	return uint32(len(data)), fuse.OK
}

// Fsync is the disk's cache flush: a loop device sends it for each barrier.
func (f *imageFS) Fsync(_ <-chan struct{}, _ *fuse.FsyncIn) fuse.Status {
	if err := f.image.Flush(); err != nil {
		return f.status("flush", 0, err)
	}
	return fuse.OK
}

// The modes of fallocate(2) that a loop device uses.
const (
	keepSize  = 0x01
	punchHole = 0x02
	zeroRange = 0x10
)

// Fallocate is discard (punch hole) and write zeroes (zero range, or punch hole
// where space may be given back).
func (f *imageFS) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	switch in.Mode {
	case punchHole | keepSize, zeroRange, zeroRange | keepSize:
	default:
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	if in.Mode&zeroRange != 0 && f.image.DiscardOnly() {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	if err := f.image.Punch(int64(in.Offset), int64(in.Length)); err != nil {
		return f.status("discard", in.Offset, err)
	}
	return fuse.OK
}

// StatFs: the loop device takes the block size for its discard granularity and
// offers no discard without one.
func (f *imageFS) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.Frsize, out.NameLen = bands.Align, bands.Align, 255
	out.Blocks = uint64(f.image.Size()) / bands.Align
	return fuse.OK
}

// status turns an error into the errno that the writer gets, and says it in the
// log: the kernel keeps only the number.
func (f *imageFS) status(what string, off uint64, err error) fuse.Status {
	f.log.Printf("%s at %d: %v", what, off, err)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return fuse.Status(errno)
	}
	return fuse.EIO
}
