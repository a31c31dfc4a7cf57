package dir

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Node is a file of any type whose owner, mode, extended attributes and times are
// to be set.
type Node struct {
	at   nodeAt
	path string // for messages
	Info        // when it was opened
}

func (n *Node) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: n.path, Err: err}
}

// Dress gives the file the owner, mode, extended attributes and times of another.
// The order matters: a new owner takes the setuid bits and the capabilities away.
func (n *Node) Dress(want Info, xattrs Xattrs) error {
	if n.UID != want.UID || n.GID != want.GID {
		if err := n.fail("chown", n.chown(int(want.UID), int(want.GID))); err != nil {
			return err
		}
		n.Mode = 0 // whatever it is now
	}
	if n.Perm() != want.Perm() && !want.IsSymlink() {
		if err := n.fail("chmod", n.chmod(want.Perm())); err != nil {
			return err
		}
	}
	if err := n.setXattrs(xattrs); err != nil {
		return err
	}
	return n.fail("set times of", n.setTimes(want.Atime, want.Mtime))
}

// setXattrs leaves exactly these extended attributes on the file.
func (n *Node) setXattrs(want Xattrs) error {
	have, err := n.xattrs()
	if err != nil {
		return n.fail("read extended attributes of", err)
	}
	for name := range have {
		if _, keep := want[name]; keep {
			continue
		}
		if err := n.removeXattr(name); err != nil && !isNoXattr(err) {
			return n.fail("remove "+name+" from", err)
		}
	}
	for name, value := range want {
		old, there := have[name]
		if there && string(old) == string(value) && !fragile(name) {
			continue
		}
		if err := n.setXattr(name, value); err != nil {
			return n.fail("set "+name+" on", err)
		}
	}
	return nil
}

// fragile are attributes that a change of owner or mode may have altered since
// they were read.
func fragile(name string) bool {
	return name == "security.capability" || name == "system.posix_acl_access"
}

func isNoXattr(err error) bool { return errors.Is(err, noXattr) }

func timespecs(atime, mtime Time) []unix.Timespec {
	return []unix.Timespec{atime.timespec(), mtime.timespec()}
}
