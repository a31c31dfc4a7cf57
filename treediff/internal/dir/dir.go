// Package dir works on directory trees by descriptors.
//
// A tree's root is opened once, by a path in which symbolic links are followed;
// from there on no link is, and no mount is entered: whoever plants a link or
// renames a directory meanwhile cannot lead anyone out of the tree. The methods
// are the same on every system.
package dir

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is an open directory.
type Dir struct {
	fd   int
	path string // as people know it: for messages, and for what has no call by descriptor
}

const (
	openDir  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	longPath = 3000 // bytes that one lookup may have, below every system's limit
)

// Open opens a directory by its path; the path may be or have symbolic links, and
// /dev/fd/N is what that descriptor has open.
func Open(path string) (*Dir, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, openDir, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &Dir{fd, path}, nil
}

// Below opens the directory at a path below d, d itself for "". A link or a mount
// on the way is an error: see Gone and IsMount.
func (d *Dir) Below(rel string) (*Dir, error) {
	whole := d.Path(rel)
	at := d.fd
	for {
		part, rest := cut(rel)
		fd, err := openBelow(at, part)
		if at != d.fd {
			_ = unix.Close(at)
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: whole, Err: err}
		}
		if rest == "" {
			return &Dir{fd, whole}, nil
		}
		at, rel = fd, rest
	}
}

// cut takes as much of a path as one lookup may have.
func cut(rel string) (part, rest string) {
	if rel == "" {
		return ".", ""
	}
	if len(rel) <= longPath {
		return rel, ""
	}
	at := strings.LastIndexByte(rel[:longPath], '/')
	return rel[:at], rel[at+1:]
}

// stepwise opens a directory below another name by name, where the system has
// no call that does it.
func stepwise(at int, rel string) (int, error) {
	var root unix.Stat_t
	if err := unix.Fstat(at, &root); err != nil {
		return -1, err
	}
	from := at
	for name := range strings.SplitSeq(rel, "/") {
		fd, err := retry(func() (int, error) { return unix.Openat(from, name, openDir|unix.O_NOFOLLOW, 0) })
		if from != at {
			_ = unix.Close(from)
		}
		if err != nil {
			return -1, err
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Dev != root.Dev {
			_ = unix.Close(fd)
			return -1, errors.Join(err, unix.EXDEV)
		}
		from = fd
	}
	return from, nil
}

// retry repeats a call that a signal has cut off.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// Close closes the directory; nil is fine.
func (d *Dir) Close() {
	if d != nil {
		_ = unix.Close(d.fd)
	}
}

// Path is name in d as people know it, or with "" d itself. It is for messages:
// d may have been renamed.
func (d *Dir) Path(name string) string { return path.Join(d.path, name) }

func (d *Dir) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: d.Path(name), Err: err}
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

// Readlink reads a symbolic link.
func (d *Dir) Readlink(name string) (string, error) {
	buf := make([]byte, 4097) // longer than the longest target
	n, err := retry(func() (int, error) { return unix.Readlinkat(d.fd, name, buf) })
	if err != nil {
		return "", d.fail("readlink", name, err)
	}
	return string(buf[:n]), nil
}

// Gone tells whether err says that a name is not there any more, or is not any
// more what it was when it was looked at.
func Gone(err error) bool {
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ESTALE, errChanged} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// IsMount tells whether err says that another filesystem is mounted there.
func IsMount(err error) bool { return errors.Is(err, unix.EXDEV) }

// errChanged: a name is a thing of another type than a moment ago.
var errChanged = errors.New("has changed its type meanwhile")
