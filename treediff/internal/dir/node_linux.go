package dir

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const noXattr = unix.ENODATA

// nodeAt holds the file open without access to its content: what is changed
// then is this file, whatever gets its name.
type nodeAt struct {
	fd   int
	link string // by which calls without a descriptor reach it, also a symbolic link itself
}

// Node opens name in d, d itself for "".
func (d *Dir) Node(name string) (*Node, error) {
	flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at := name
	if name == "" {
		at = "."
	}
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, at, flags, 0) })
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	f := &File{fd: fd, path: d.Path(name)}
	n, err := f.Node(d, name)
	if err != nil {
		f.Close()
	}
	return n, err
}

// Node is an open file as a node, to be closed as the file. The file is name in d.
func (f *File) Node(_ *Dir, _ string) (*Node, error) {
	if err := f.stat(); err != nil {
		return nil, err
	}
	at := nodeAt{f.fd, fmt.Sprintf("/proc/self/fd/%d", f.fd)}
	return &Node{at: at, path: f.path, Info: f.Info}, nil
}

// Close closes the file.
func (n *Node) Close() { _ = unix.Close(n.at.fd) }

func (n *Node) chown(uid, gid int) error {
	return unix.Fchownat(n.at.fd, "", uid, gid, unix.AT_EMPTY_PATH)
}

func (n *Node) chmod(mode uint32) error { return unix.Fchmodat(unix.AT_FDCWD, n.at.link, mode, 0) }

func (n *Node) xattrs() (Xattrs, error) { return readXattrs(n.at.link, false) }

func (n *Node) setXattr(name string, value []byte) error {
	return unix.Setxattr(n.at.link, name, value, 0)
}

func (n *Node) removeXattr(name string) error { return unix.Removexattr(n.at.link, name) }

func (n *Node) setTimes(atime, mtime Time) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, n.at.link, timespecs(atime, mtime), 0)
}
