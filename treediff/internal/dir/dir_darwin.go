package dir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Where an entry of a directory has its type and its name.
const (
	direntType = 20
	direntName = 21
)

// openBelow opens a directory below another one.
func openBelow(at int, rel string) (int, error) { return stepwise(at, rel) }

// link is the path by which calls without a descriptor reach name in d.
func (d *Dir) link(name string) string { return d.Path(name) }

// Sync makes data durable, as far as sync does here: the drive's own cache is
// not waited for.
func (d *Dir) Sync() error { return d.fail("sync", "", unix.Sync()) }

// Within opens what a path names in the tree d; symbolic links are followed and
// are an error where they lead out of d.
func (d *Dir) Within(rel string) (*File, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// Without waiting for the other end of a FIFO.
	file, err := root.OpenFile(rel, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, d.fail("open", rel, errors.Unwrap(err))
	}
	defer file.Close()
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, d.fail("open", rel, err)
	}
	f := &File{fd: fd, path: d.Path(rel)}
	if err := f.readable(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (d *Dir) mknod(name string, mode uint32, rdev uint64) error {
	if mode&unix.S_IFMT == unix.S_IFIFO {
		return unix.Mkfifo(d.Path(name), mode)
	}
	return unix.Mknod(d.Path(name), mode, int(rdev))
}
