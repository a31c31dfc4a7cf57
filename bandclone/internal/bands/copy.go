package bands

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
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
	buf := make([]byte, min(length, 1<<20))
	for length > 0 {
		n, err := unix.Pread(src, buf[:min(length, int64(len(buf)))], off)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		if err := writeAll(dst, buf[:n], off); err != nil {
			return err
		}
		off, length = off+int64(n), length-int64(n)
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
