//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// node is a file of the recording filesystem: a descriptor, by O_PATH, of the file
// below, whatever that is called meanwhile.
type node struct {
	fs.Inode
	rec  *recorder
	path *os.File // closed by the collector: two lookups may make two nodes of which one stays
	ino  uint64
}

var _ = interface {
	fs.NodeLookuper
	fs.NodeGetattrer
	fs.NodeSetattrer
	fs.NodeStatfser
	fs.NodeReadlinker
	fs.NodeCreater
	fs.NodeMkdirer
	fs.NodeSymlinker
	fs.NodeLinker
	fs.NodeUnlinker
	fs.NodeRmdirer
	fs.NodeRenamer
	fs.NodeOpener
	fs.NodeReaddirer
	fs.NodeReader
	fs.NodeWriter
	fs.NodeLseeker
	fs.NodeAllocater
	fs.NodeFsyncer
}((*node)(nil))

func (n *node) fd() int { return int(n.path.Fd()) }

// self is a path of the file itself, for calls that take no descriptor by O_PATH.
func (n *node) self() string { return fmt.Sprintf("/proc/self/fd/%d", n.fd()) }

func errno(err error) syscall.Errno {
	var e syscall.Errno
	if err == nil || errors.As(err, &e) {
		return e
	}
	return syscall.EIO
}

func (r *recorder) newNode(fd int) (*node, *syscall.Stat_t, error) {
	var st syscall.Stat_t
	n := &node{rec: r, path: os.NewFile(uintptr(fd), "")}
	err := syscall.Fstat(fd, &st)
	n.ino = st.Ino
	return n, &st, err
}

// child gives the node of a name.
func (n *node) child(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, *node, syscall.Errno) {
	fd, err := unix.Openat(n.fd(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, errno(err)
	}
	c, st, err := n.rec.newNode(fd)
	if err != nil {
		return nil, nil, errno(err)
	}
	out.Attr.FromStat(st)
	return n.NewInode(ctx, c, fs.StableAttr{Mode: st.Mode & unix.S_IFMT, Ino: st.Ino}), c, 0
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	in, _, e := n.child(ctx, name, out)
	return in, e
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	var st syscall.Stat_t
	if err := syscall.Fstat(n.fd(), &st); err != nil {
		return errno(err)
	}
	out.FromStat(&st)
	return 0
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(n.fd(), &st); err != nil {
		return errno(err)
	}
	out.FromStatfsT(&st)
	return 0
}

func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) {
	buf := make([]byte, unix.PathMax)
	m, err := unix.Readlinkat(n.fd(), "", buf)
	if err != nil {
		return nil, errno(err)
	}
	return buf[:m], 0
}

// made does what makes a name and logs it with the new file's number.
func (n *node) made(ctx context.Context, op Op, out *fuse.EntryOut, do func() error) (in *fs.Inode, e syscall.Errno) {
	op.Dir = n.ino
	e = n.rec.do(func() (Op, error) {
		if err := do(); err != nil {
			return op, err
		}
		var c *node
		var e syscall.Errno
		if in, c, e = n.child(ctx, op.Name, out); e != 0 {
			return op, e
		}
		op.Ino = c.ino
		return op, nil
	})
	return in, e
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	fd := -1
	in, e := n.made(ctx, Op{Kind: Create, Name: name, Mode: mode}, out, func() (err error) {
		fd, err = unix.Openat(n.fd(), name, flagsBelow(flags)|unix.O_CREAT|unix.O_EXCL, mode)
		return err
	})
	if e != 0 {
		return nil, nil, 0, e
	}
	return in, newFile(fd), 0, 0
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.made(ctx, Op{Kind: Mkdir, Name: name, Mode: mode}, out, func() error { return unix.Mkdirat(n.fd(), name, mode) })
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.made(ctx, Op{Kind: Symlink, Name: name, Data: []byte(target)}, out, func() error { return unix.Symlinkat(target, n.fd(), name) })
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.made(ctx, Op{Kind: Link, Name: name}, out, func() error {
		return unix.Linkat(target.(*node).fd(), "", n.fd(), name, unix.AT_EMPTY_PATH)
	})
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno { return n.remove(Unlink, name, 0) }
func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return n.remove(Rmdir, name, unix.AT_REMOVEDIR)
}

func (n *node) remove(kind Kind, name string, flags int) syscall.Errno {
	return n.rec.do(func() (Op, error) {
		op := Op{Kind: kind, Dir: n.ino, Name: name, Ino: n.number(name)}
		return op, unix.Unlinkat(n.fd(), name, flags)
	})
}

// number is the inode number of a name, 0 if there is none.
func (n *node) number(name string) uint64 {
	var st unix.Stat_t
	_ = unix.Fstatat(n.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st.Ino
}

func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	return n.rec.do(func() (Op, error) {
		t := to.(*node)
		op := Op{Kind: Rename, Dir: n.ino, Name: name, Dir2: t.ino, Name2: newName, Ino: n.number(name), Mode: flags}
		return op, unix.Renameat2(n.fd(), name, t.fd(), newName, uint(flags))
	})
}

// Setattr is chmod and truncate. Owners and times are handed on, and not logged.
func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if mode, ok := in.GetMode(); ok {
		if e := n.change(Op{Kind: Chmod, Mode: mode & 0o7777}, func() error { return unix.Chmod(n.self(), mode&0o7777) }); e != 0 {
			return e
		}
	}
	if size, ok := in.GetSize(); ok {
		if e := n.change(Op{Kind: Truncate, Len: int64(size)}, func() error { return unix.Truncate(n.self(), int64(size)) }); e != 0 {
			return e
		}
	}
	if mtime, ok := in.GetMTime(); ok {
		if err := os.Chtimes(n.self(), time.Time{}, mtime); err != nil {
			return errno(err)
		}
	}
	return n.Getattr(ctx, f, out)
}

// change does what changes this file and logs it.
func (n *node) change(op Op, do func() error) syscall.Errno {
	op.Ino = n.ino
	return n.rec.do(func() (Op, error) { return op, do() })
}
