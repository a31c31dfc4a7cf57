package dir

import "golang.org/x/sys/unix"

const noXattr = unix.ENOATTR

// nodeAt is the file's name in its directory: there is no descriptor here that
// reaches a file of any type without opening its content.
type nodeAt struct {
	dir  *Dir
	name string
}

// Node looks at name in d, d itself for "".
func (d *Dir) Node(name string) (*Node, error) {
	n := &Node{at: nodeAt{d, name}, path: d.Path(name)}
	var err error
	if name == "" {
		n.at.name = "."
		n.Info, err = d.Self()
	} else {
		n.Info, err = d.Stat(name)
	}
	return n, err
}

// Node is an open file as a node, to be closed as the file. The file is name in d.
func (f *File) Node(d *Dir, name string) (*Node, error) { return d.Node(name) }

// Close closes the file.
func (n *Node) Close() {}

func (n *Node) chown(uid, gid int) error {
	return unix.Fchownat(n.at.dir.fd, n.at.name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
}

func (n *Node) chmod(mode uint32) error {
	return unix.Fchmodat(n.at.dir.fd, n.at.name, mode, unix.AT_SYMLINK_NOFOLLOW)
}

func (n *Node) xattrs() (Xattrs, error) { return readXattrs(n.path, true) }

func (n *Node) setXattr(name string, value []byte) error {
	return unix.Lsetxattr(n.path, name, value, 0)
}

func (n *Node) removeXattr(name string) error { return unix.Lremovexattr(n.path, name) }

func (n *Node) setTimes(atime, mtime Time) error {
	return unix.UtimesNanoAt(n.at.dir.fd, n.at.name, timespecs(atime, mtime), unix.AT_SYMLINK_NOFOLLOW)
}
