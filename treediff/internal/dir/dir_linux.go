package dir

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Where an entry of a directory has its type and its name.
const (
	direntType = 18
	direntName = 19
)

// openBelow opens a directory below another one, in one call where the system
// lets it.
func openBelow(at int, rel string) (int, error) {
	how := unix.OpenHow{
		Flags:   openDir | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	}
	for {
		fd, err := unix.Openat2(at, rel, &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // a rename meanwhile
		case errors.Is(err, unix.ENOSYS):
			return stepwise(at, rel)
		default:
			return fd, err
		}
	}
}

// link is the path by which calls without a descriptor reach name in d.
func (d *Dir) link(name string) string {
	if name == "" {
		return fmt.Sprintf("/proc/self/fd/%d", d.fd)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.fd, name)
}

// Sync makes all data on the directory's filesystem durable.
func (d *Dir) Sync() error { return d.fail("syncfs", "", unix.Syncfs(d.fd)) }

// Within opens what a path names in the tree d, as with chroot: symbolic links
// are followed and lead nowhere out of d.
func (d *Dir) Within(rel string) (*File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	var fd int
	for {
		var err error
		fd, err = unix.Openat2(d.fd, rel, &how)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil {
			return nil, d.fail("open", rel, err)
		}
		break
	}
	// What has no content is not opened: a device does things then, a FIFO waits.
	f := &File{fd: fd, path: d.Path(rel)}
	defer f.Close()
	if err := f.readable(); err != nil {
		return nil, err
	}
	again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, d.fail("open", rel, err)
	}
	return &File{fd: again, path: f.path, Info: f.Info}, nil
}

func (d *Dir) mknod(name string, mode uint32, rdev uint64) error {
	return unix.Mknodat(d.fd, name, mode, int(rdev))
}
