package bands

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/dir"
)

// copyData copies the data of a band and leaves its holes.
func copyData(dst, src int, size int64) error {
	for pos := int64(0); pos < size; {
		from := nextData(src, pos, size)
		if from == size {
			break
		}
		to := nextHole(src, from, size)
		if err := copyRange(dst, src, from, to-from); err != nil {
			return err
		}
		pos = to
	}
	return unix.Ftruncate(dst, size)
}

// nextData is where data begins at or behind pos, size if there is none. Where
// the filesystem does not know, everything is data.
func nextData(fd int, pos, size int64) int64 {
	at, err := unix.Seek(fd, pos, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size
	case err != nil:
		return pos
	}
	return min(at, size)
}

// nextHole is where the data at pos ends.
func nextHole(fd int, pos, size int64) int64 {
	at, err := unix.Seek(fd, pos, unix.SEEK_HOLE)
	if err != nil || at <= pos {
		return size
	}
	return min(at, size)
}

// copyByHand copies through memory.
func copyByHand(dst, src int, off, length int64) error {
	buf := make([]byte, min(length, piece))
	for length > 0 {
		p := buf[:min(length, piece)]
		if err := readAll(src, p, off); err != nil {
			return err
		}
		if err := writeAll(dst, p, off); err != nil {
			return err
		}
		off, length = off+int64(len(p)), length-int64(len(p))
	}
	return nil
}

func writeAll(dst int, buf []byte, off int64) error {
	for len(buf) > 0 {
		n, err := unix.Pwrite(dst, buf, off)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		buf, off = buf[n:], off+int64(n)
	}
	return nil
}

// readFull reads at off, and zeros behind the end of the file. A file of nil is
// a missing band: all zeros.
func readFull(f *os.File, buf []byte, off int64) error {
	if f == nil {
		clear(buf)
		return nil
	}
	n, err := f.ReadAt(buf, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	clear(buf[n:])
	return err
}

// piece is how much of a band is copied at once.
const piece = 1 << 20

// zeros are what is seen of a hole.
var zeros [piece]byte

// CopySeen copies the data of a band from one directory to another, leaves its holes,
// and shows all of it to see, holes too. It gives the bytes that were written.
func CopySeen(from, to *dir.Dir, num uint64, mode uint32, see func(p []byte)) (written int64, err error) {
	err = from.Create(to, Name(num), mode, func(dst, src int, size int64) error {
		buf := make([]byte, min(size, piece))
		for pos := int64(0); pos < size; {
			data := nextData(src, pos, size)
			for ; pos < data; pos += min(data-pos, piece) {
				see(zeros[:min(data-pos, piece)])
			}
			for end := nextHole(src, pos, size); pos < end; {
				p := buf[:min(end-pos, piece)]
				if err := readAll(src, p, pos); err != nil {
					return err
				}
				see(p)
				if err := writeAll(dst, p, pos); err != nil {
					return err
				}
				pos, written = pos+int64(len(p)), written+int64(len(p))
			}
		}
		return unix.Ftruncate(dst, size)
	})
	return written, err
}

// readAll fills buf.
func readAll(src int, buf []byte, off int64) error {
	for len(buf) > 0 {
		n, err := unix.Pread(src, buf, off)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		buf, off = buf[n:], off+int64(n)
	}
	return nil
}
