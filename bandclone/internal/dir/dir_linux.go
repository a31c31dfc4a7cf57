package dir

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// each reads the directory with getdents64 into buf.
func each(fd int, buf []byte, visit Visit) error {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return err
	}
	for {
		n, err := unix.Getdents(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return err
		}
		parse(buf[:n], visit)
	}
}

// parse reads struct linux_dirent64: u64 ino, s64 off, u16 reclen, u8 type, name.
func parse(buf []byte, visit Visit) {
	for len(buf) > 19 {
		length := binary.NativeEndian.Uint16(buf[16:])
		name := buf[19:length]
		for i, c := range name {
			if c == 0 {
				name = name[:i]
				break
			}
		}
		visit(name, binary.NativeEndian.Uint64(buf), Kind(buf[18]))
		buf = buf[length:]
	}
}

// Link gives the file name in d the same name in to.
func (d *Dir) Link(to *Dir, name string) error {
	return d.fail("link", name, unix.Linkat(d.fd, name, to.fd, name, 0))
}

// Chmod sets the permissions of a regular file.
func (d *Dir) Chmod(name string, mode uint32) error {
	err := unix.Fchmodat(d.fd, name, mode, unix.AT_SYMLINK_NOFOLLOW)
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return d.fail("chmod", name, err)
	}
	f, err := d.OpenFile(name, unix.O_RDONLY, 0) // before Linux 6.6: no fchmodat2
	if err != nil {
		return err
	}
	defer f.Close()
	return d.fail("chmod", name, unix.Fchmod(int(f.Fd()), mode))
}

// Reflink makes the file name in to share the extents of name in d. It keeps
// the time of the last change.
func (d *Dir) Reflink(to *Dir, name string, mode uint32) error {
	return d.Create(to, name, mode, func(dst, src int, _ int64) error {
		return unix.IoctlFileClone(dst, src)
	})
}

// CloneTo clones the directory d, as it is, to name in to. Only macOS can.
func (d *Dir) CloneTo(_ *Dir, name string) error {
	return d.fail("clonefile", name, unix.EOPNOTSUPP)
}

// RenameNew renames a name within d and fails where there is something already.
func (d *Dir) RenameNew(from, to string) error {
	err := unix.Renameat2(d.fd, from, d.fd, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		err = d.renameChecked(from, to)
	}
	return d.fail("rename", to, err)
}

// Exchange swaps two names of d in one step.
func (d *Dir) Exchange(a, b string) error {
	return d.fail("exchange", a, unix.Renameat2(d.fd, a, d.fd, b, unix.RENAME_EXCHANGE))
}

// SyncData makes all data on the directory's filesystem durable.
func (d *Dir) SyncData() error { return d.fail("syncfs", "", unix.Syncfs(d.fd)) }
