package dir

import (
	"bytes"
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// Create makes a regular file that only its owner may read, and opens it for
// writing. A name that is there already is an error.
func (d *Dir) Create(name string) (*File, error) {
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, 0o600) })
	if err != nil {
		return nil, d.fail("create", name, err)
	}
	return &File{fd: fd, path: d.Path(name)}, nil
}

// Mkdir makes a directory that only its owner may enter.
func (d *Dir) Mkdir(name string) error {
	return d.fail("mkdir", name, unix.Mkdirat(d.fd, name, 0o700))
}

// Symlink makes a symbolic link.
func (d *Dir) Symlink(target, name string) error {
	return d.fail("symlink", name, unix.Symlinkat(target, d.fd, name))
}

// Mknod makes a FIFO, a socket or a device, of the type and for devices the
// numbers of another.
func (d *Dir) Mknod(name string, like Info) error {
	return d.fail("mknod", name, d.mknod(name, like.Type()|0o600, like.Rdev))
}

// Link gives the file name in d another name in to.
func (d *Dir) Link(name string, to *Dir, other string) error {
	return to.fail("link", other, unix.Linkat(d.fd, name, to.fd, other, 0))
}

// Rename renames a name within d, replacing what is there.
func (d *Dir) Rename(from, to string) error {
	return d.fail("rename", from, unix.Renameat(d.fd, from, d.fd, to))
}

// Unlink removes a file.
func (d *Dir) Unlink(name string) error {
	return d.fail("unlink", name, unix.Unlinkat(d.fd, name, 0))
}

// Rmdir removes an empty directory.
func (d *Dir) Rmdir(name string) error {
	return d.fail("rmdir", name, unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR))
}

// Chmod sets the permissions of d itself.
func (d *Dir) Chmod(mode uint32) error { return d.fail("chmod", "", unix.Fchmod(d.fd, mode)) }

// copies are buffers for copying.
var copies = sync.Pool{New: func() any { return new([1 << 20]byte) }}

// CopyFrom makes a new, empty file hold what from holds, with its holes, and gives
// the bytes that were written.
func (f *File) CopyFrom(from *File) (written int64, err error) {
	buf := copies.Get().(*[1 << 20]byte)
	defer copies.Put(buf)
	for pos, end := int64(0), from.Size; pos < end; {
		stop := end
		if from.Sparse() {
			if pos = from.NextData(pos); pos >= end {
				break
			}
			stop = from.nextHole(pos)
		}
		for pos < stop {
			n, err := from.ReadAt(buf[:min(stop-pos, int64(len(buf)))], pos)
			if err == nil && n == 0 {
				err = from.fail("read", io.ErrUnexpectedEOF)
			}
			if err == nil {
				err = f.writeAt(buf[:n], pos)
			}
			if err != nil {
				return written, err
			}
			pos, written = pos+int64(n), written+int64(n)
		}
	}
	if from.Sparse() {
		err = f.fail("truncate", unix.Ftruncate(f.fd, from.Size))
	}
	return written, err
}

// holeSize is the size of the blocks that Fill makes holes of.
const holeSize = 4096

var hole [holeSize]byte

// Fill makes a new, empty file hold the size bytes that r gives: with sparse as a file in
// which blocks of zeros are holes. It gives the bytes that were written.
func (f *File) Fill(r io.Reader, size int64, sparse bool) (written int64, err error) {
	buf := copies.Get().(*[1 << 20]byte)
	defer copies.Put(buf)
	if sparse { // first: what the filesystem cannot hold need not be read
		if err := unix.Ftruncate(f.fd, size); err != nil {
			return 0, f.fail("truncate", err)
		}
	}
	for pos := int64(0); pos < size; {
		n, err := io.ReadFull(r, buf[:min(size-pos, int64(len(buf)))])
		if err != nil {
			return written, err
		}
		wrote, err := f.fillAt(buf[:n], pos, sparse)
		pos, written = pos+int64(n), written+wrote
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// fillAt writes what has to be written of buf.
func (f *File) fillAt(buf []byte, off int64, sparse bool) (written int64, err error) {
	if !sparse {
		return int64(len(buf)), f.writeAt(buf, off)
	}
	for len(buf) > 0 {
		part := buf[:min(holeSize, len(buf))]
		if !bytes.Equal(part, hole[:len(part)]) {
			if err := f.writeAt(part, off); err != nil {
				return written, err
			}
			written += int64(len(part))
		}
		buf, off = buf[len(part):], off+int64(len(part))
	}
	return written, nil
}

func (f *File) writeAt(buf []byte, off int64) error {
	for len(buf) > 0 {
		n, err := retry(func() (int, error) { return unix.Pwrite(f.fd, buf, off) })
		if err != nil {
			return f.fail("write", err)
		}
		buf, off = buf[n:], off+int64(n)
	}
	return nil
}
