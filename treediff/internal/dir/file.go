package dir

import (
	"errors"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// File is an open regular file. It is not an os.File: those cost some calls more
// each, and tens of thousands are opened.
type File struct {
	fd   int
	path string // for messages
	at   int64  // where Read goes on
	Info        // when it was opened
}

// OpenFile opens a regular file in d for reading. Where it is none any more Gone
// is true of the error.
func (d *Dir) OpenFile(name string) (*File, error) {
	flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, 0) })
	if errors.Is(err, unix.ENXIO) {
		err = errChanged // a socket
	}
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	f := &File{fd: fd, path: d.Path(name)}
	if err := f.stat(); err != nil {
		f.Close()
		return nil, err
	}
	if !f.IsRegular() {
		f.Close()
		return nil, d.fail("open", name, errChanged)
	}
	return f, nil
}

func (f *File) stat() error {
	var st unix.Stat_t
	err := unix.Fstat(f.fd, &st)
	f.Info = info(&st)
	return f.fail("stat", err)
}

// readable wants a file that has content, or a directory.
func (f *File) readable() error {
	if err := f.stat(); err != nil {
		return err
	}
	if !f.IsRegular() && !f.IsDir() {
		return f.fail("show", errors.New("is a "+f.TypeName()))
	}
	return nil
}

func (f *File) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}

// Close closes the file.
func (f *File) Close() { _ = unix.Close(f.fd) }

// Path is the file as people know it.
func (f *File) Path() string { return f.path }

// Dir is the directory that the file is, with a descriptor of its own.
func (f *File) Dir() (*Dir, error) {
	d := &Dir{f.fd, f.path}
	return d.Below("")
}

// ReadAt fills buf from off on; fewer bytes mean the end of the file.
func (f *File) ReadAt(buf []byte, off int64) (int, error) {
	done := 0
	for done < len(buf) {
		n, err := retry(func() (int, error) { return unix.Pread(f.fd, buf[done:], off+int64(done)) })
		if err != nil {
			return done, f.fail("read", err)
		}
		if n == 0 {
			break
		}
		done += n
	}
	return done, nil
}

// Read reads on, as io.Reader.
func (f *File) Read(buf []byte) (int, error) {
	n, err := retry(func() (int, error) { return unix.Pread(f.fd, buf, f.at) })
	if err != nil {
		return 0, f.fail("read", err)
	}
	if n == 0 && len(buf) > 0 {
		return 0, io.EOF
	}
	f.at += int64(n)
	return n, nil
}

// Sparse tells whether the file may have holes worth asking for. Its size tells of
// most; a large one may have space that was allocated and never written, which is a
// hole for who reads.
func (f *File) Sparse() bool { return f.Allocated < f.Size || f.Size >= large }

const large = 64 << 20 // bytes

// NextData is where data begins at or behind pos, the file's size if there is
// none. Where the filesystem does not know, everything is data.
func (f *File) NextData(pos int64) int64 {
	at, err := unix.Seek(f.fd, pos, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return f.Size
	case err != nil:
		return pos
	}
	return min(at, f.Size)
}

// nextHole is where the data at pos ends.
func (f *File) nextHole(pos int64) int64 {
	at, err := unix.Seek(f.fd, pos, unix.SEEK_HOLE)
	if err != nil || at <= pos {
		return f.Size
	}
	return min(at, f.Size)
}
