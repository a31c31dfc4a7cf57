package bundle

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// extents calls visit for each stretch of data in the first size bytes of f, in
// order; between them are holes. A filesystem that knows no holes has one
// stretch.
func extents(f *os.File, size int64, visit func(lo, hi int64) error) error {
	for at := int64(0); at < size; {
		lo, hi, err := nextData(f, at, size)
		if err != nil {
			return err
		}
		if lo >= size {
			return nil
		}
		if err := visit(lo, hi); err != nil {
			return err
		}
		at = hi
	}
	return nil
}

// nextData finds the next data at or after at; lo is size where there is none.
func nextData(f *os.File, at, size int64) (lo, hi int64, err error) {
	lo, err = f.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, syscall.ENXIO): // nothing but a hole to the end
		return size, size, nil
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOTSUP):
		return at, size, nil
	case err != nil:
		return 0, 0, err
	}
	hi, err = f.Seek(lo, unix.SEEK_HOLE)
	if errors.Is(err, syscall.ENXIO) { // cut short meanwhile
		return size, size, nil
	}
	return lo, min(hi, size), err
}
