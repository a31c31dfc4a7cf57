package dir

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// each reads the directory with getdirentries into buf.
func each(fd int, buf []byte, visit Visit) error {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return err
	}
	var base uintptr
	for {
		n, err := unix.Getdirentries(fd, buf, &base)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return err
		}
		parse(buf[:n], visit)
	}
}

// parse reads struct dirent: u64 ino, u64 seek, u16 reclen, u16 namlen, u8 type, name.
func parse(buf []byte, visit Visit) {
	for len(buf) > 21 {
		length := binary.NativeEndian.Uint16(buf[16:])
		name := buf[21 : 21+int(binary.NativeEndian.Uint16(buf[18:]))]
		visit(name, binary.NativeEndian.Uint64(buf), Kind(buf[20]))
		buf = buf[length:]
	}
}

// Link is not offered: hdiutil writes into a band however many names it has,
// so that a hard link would be no clone.
func (d *Dir) Link(_ *Dir, name string) error { return d.fail("link", name, unix.ENOTSUP) }

// Chmod sets the permissions of a regular file.
func (d *Dir) Chmod(name string, mode uint32) error {
	return d.fail("chmod", name, unix.Fchmodat(d.fd, name, mode, unix.AT_SYMLINK_NOFOLLOW))
}

// Reflink makes the file name in to share the extents of name in d. It keeps
// the time of the last change.
func (d *Dir) Reflink(to *Dir, name string, mode uint32) error {
	err := unix.Clonefileat(d.fd, name, to.fd, name, unix.CLONE_NOFOLLOW)
	if err != nil {
		return d.fail("clonefile", name, err)
	}
	return to.Chmod(name, mode)
}

// CloneTo clones the directory d, as it is, to name in to, in one call.
func (d *Dir) CloneTo(to *Dir, name string) error {
	return to.fail("clonefile", name, unix.Fclonefileat(d.fd, to.fd, name, unix.CLONE_NOFOLLOW))
}

// RenameNew renames a name within d and fails where there is something already.
func (d *Dir) RenameNew(from, to string) error {
	err := unix.RenameatxNp(d.fd, from, d.fd, to, unix.RENAME_EXCL)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		err = d.renameChecked(from, to)
	}
	return d.fail("rename", to, err)
}

// Exchange swaps two names of d in one step.
func (d *Dir) Exchange(a, b string) error {
	return d.fail("exchange", a, unix.RenameatxNp(d.fd, a, d.fd, b, unix.RENAME_SWAP))
}

// SyncData makes the data that was written to the directory's files durable, as
// far as fsync does here: the drive's own cache is not waited for.
func (d *Dir) SyncData() error {
	if err := unix.Sync(); err != nil {
		return d.fail("sync", "", err)
	}
	return d.Sync()
}
