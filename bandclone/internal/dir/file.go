package dir

import (
	"os"

	"golang.org/x/sys/unix"
)

// Create makes the file name in to from the file name in d: fill is called with
// both descriptors and the length. The new file is complete, with the same time
// of the last change, or it is not there.
func (d *Dir) Create(to *Dir, name string, mode uint32, fill func(dst, src int, size int64) error) error {
	src, err := d.OpenFile(name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.OpenFile(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = to.finish(name, dst, src, mode, fill)
	if e := dst.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = to.Unlink(name)
	}
	return d.fail("clone", name, err)
}

func (d *Dir) finish(name string, dst, src *os.File, mode uint32, fill func(dst, src int, size int64) error) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(src.Fd()), &st); err != nil {
		return err
	}
	if err := fill(int(dst.Fd()), int(src.Fd()), st.Size); err != nil {
		return err
	}
	if err := unix.Fchmod(int(dst.Fd()), mode); err != nil {
		return err
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	return unix.UtimesNanoAt(d.fd, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// renameChecked is RenameNew where the system cannot do it in one step. The
// callers hold the store's lock, so nobody makes the name in between.
func (d *Dir) renameChecked(from, to string) error {
	there, err := d.Exists(to)
	if err != nil {
		return err
	}
	if there {
		return unix.EEXIST
	}
	return unix.Renameat(d.fd, from, d.fd, to)
}
