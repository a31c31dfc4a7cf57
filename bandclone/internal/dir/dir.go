// Package dir works on directories that are held open by their descriptors.
//
// Names are looked up below a descriptor, never along a path, and a symbolic
// link is never followed: what was opened stays what is worked on, whoever
// renames what meanwhile. The methods are the same on every system; what a
// system lacks is an error for which Cannot is true.
package dir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir is an open directory.
type Dir struct {
	fd   int
	path string // for messages only
}

// Info is what is known of one file.
type Info struct {
	Dev, Ino, Nlink uint64
	Mode            uint32 // type and permissions, as in st_mode
	Size            int64
	Allocated       int64 // bytes that the file takes on the disk
	Mtime, Ctime    int64 // nanoseconds since 1970
}

// IsDir tells whether it is a directory.
func (i Info) IsDir() bool { return i.Mode&unix.S_IFMT == unix.S_IFDIR }

// IsRegular tells whether it is a regular file.
func (i Info) IsRegular() bool { return i.Mode&unix.S_IFMT == unix.S_IFREG }

const openDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// Open opens a directory by its path. The last name may not be a symbolic link.
func Open(path string) (*Dir, error) {
	path = filepath.Clean(path)
	return open(unix.AT_FDCWD, path, path)
}

// Open opens the directory name in d.
func (d *Dir) Open(name string) (*Dir, error) { return open(d.fd, name, d.Path(name)) }

func open(at int, name, path string) (*Dir, error) {
	fd, err := unix.Openat(at, name, openDir, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &Dir{fd, path}, nil
}

// Close closes the directory and with it gives up its lock.
func (d *Dir) Close() { _ = unix.Close(d.fd) }

// FD is the descriptor.
func (d *Dir) FD() int { return d.fd }

// Path is name in d as people know it, or with "" d itself. It is for messages:
// d may have been renamed.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

func (d *Dir) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: d.Path(name), Err: err}
}

// Mkdir makes a directory that only its owner may enter.
func (d *Dir) Mkdir(name string) error {
	return d.fail("mkdir", name, unix.Mkdirat(d.fd, name, 0o700))
}

// Rename renames a name within d, replacing what is there.
func (d *Dir) Rename(from, to string) error {
	return d.fail("rename", from, unix.Renameat(d.fd, from, d.fd, to))
}

// Move renames a name of d to one of another directory, replacing what is there.
func (d *Dir) Move(from string, other *Dir, to string) error {
	return d.fail("rename", from, unix.Renameat(d.fd, from, other.fd, to))
}

// LinkAs gives a file of d a second name, in the same or another directory.
func (d *Dir) LinkAs(name string, other *Dir, second string) error {
	return d.fail("link", name, unix.Linkat(d.fd, name, other.fd, second, 0))
}

// Unlink removes a file.
func (d *Dir) Unlink(name string) error {
	return d.fail("unlink", name, unix.Unlinkat(d.fd, name, 0))
}

// Rmdir removes an empty directory.
func (d *Dir) Rmdir(name string) error {
	return d.fail("rmdir", name, unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR))
}

// Symlink makes a symbolic link.
func (d *Dir) Symlink(target, name string) error {
	return d.fail("symlink", name, unix.Symlinkat(target, d.fd, name))
}

// Readlink reads a symbolic link.
func (d *Dir) Readlink(name string) (string, error) {
	buf := make([]byte, 256) // our links hold a version; a longer target is not ours
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return "", d.fail("readlink", name, err)
	}
	return string(buf[:n]), nil
}

// Stat gives what name is, not what it points to.
func (d *Dir) Stat(name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, d.fail("stat", name, err)
	}
	return info(&st), nil
}

// Self gives what d itself is.
func (d *Dir) Self() (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return Info{}, d.fail("stat", "", err)
	}
	return info(&st), nil
}

// Space gives the bytes that the filesystem of d can still take, and all that it
// has.
func (d *Dir) Space() (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return 0, 0, d.fail("statfs", "", err)
	}
	block := int64(st.Bsize)
	return int64(st.Bavail) * block, int64(st.Blocks) * block, nil
}

func info(st *unix.Stat_t) Info {
	return Info{
		Dev: uint64(st.Dev), Ino: st.Ino, Nlink: uint64(st.Nlink), Mode: uint32(st.Mode),
		Size: st.Size, Allocated: st.Blocks * 512,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

// Is tells whether name in d is the open directory other.
func (d *Dir) Is(name string, other *Dir) bool {
	a, errA := d.Stat(name)
	b, errB := other.Self()
	return errA == nil && errB == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

// Exists tells whether there is anything of that name.
func (d *Dir) Exists(name string) (bool, error) {
	_, err := d.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// OpenFile opens a file in d. Its flags get O_NOFOLLOW.
func (d *Dir) OpenFile(name string, flags int, mode uint32) (*os.File, error) {
	fd, err := unix.Openat(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return os.NewFile(uintptr(fd), d.Path(name)), nil
}

// Sync makes the directory's names durable.
func (d *Dir) Sync() error { return d.fail("fsync", "", unix.Fsync(d.fd)) }

// TryLock takes the directory's lock if nobody holds it. The kernel gives it
// up when the process ends, however it ends.
func (d *Dir) TryLock() (bool, error) {
	err := unix.Flock(d.fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, d.fail("lock", "", err)
}

// Lock waits for the directory's lock.
func (d *Dir) Lock() error {
	for {
		if err := unix.Flock(d.fd, unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return d.fail("lock", "", err)
		}
	}
}

// Unlock gives up the lock.
func (d *Dir) Unlock() { _ = unix.Flock(d.fd, unix.LOCK_UN) }

// Stuck tells whether err says that a directory cannot be renamed, though files can:
// it is from the lower layer of an overlay filesystem.
func Stuck(err error) bool { return errors.Is(err, unix.EXDEV) }

// Cannot tells whether err says that the filesystem or the system has no such
// operation, so that another way should be tried. EMLINK is among them: this
// one file can take no more links.
func Cannot(err error) bool {
	for _, e := range []error{
		unix.EPERM, unix.EXDEV, unix.EMLINK, unix.EOPNOTSUPP, unix.ENOTSUP,
		unix.ENOSYS, unix.ENOTTY, unix.EINVAL,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
