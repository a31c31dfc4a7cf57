package bands

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/extent"

	"golang.org/x/sys/unix"
)

// Comparer compares bands exactly. It is for one goroutine.
type Comparer struct {
	A, B         *dir.Dir
	mapper       extent.Mapper
	extA, extB   []extent.Extent
	bufA, bufB   []byte
	sharedPlaces bool // both are on one filesystem that may share extents
}

// NewComparer makes a comparer for the bands of two directories.
func NewComparer(a, b *dir.Dir) *Comparer {
	const chunk = 256 << 10 // both buffers stay in the processor's cache
	x, errX := a.Self()
	y, errY := b.Self()
	return &Comparer{
		A: a, B: b, bufA: make([]byte, chunk), bufB: make([]byte, chunk),
		sharedPlaces: errX == nil && errY == nil && x.Dev == y.Dev && extent.Sharing(a.FD()),
	}
}

// Equal tells whether the band of a number reads the same in both directories.
func (c *Comparer) Equal(num uint64) (bool, error) {
	a, sizeA, err := openBand(c.A, num)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, sizeB, err := openBand(c.B, num)
	if err != nil {
		return false, err
	}
	defer b.Close()
	if a != nil && b != nil && sizeA == sizeB && c.samePlaces(a, b) {
		return true, nil
	}
	return c.sameContent(a, b, sizeA, sizeB)
}

// openBand opens a band; a missing one is a nil file of no length.
func openBand(d *dir.Dir, num uint64) (*os.File, int64, error) {
	f, err := d.OpenFile(Name(num), unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

func (c *Comparer) samePlaces(a, b *os.File) bool {
	if !c.sharedPlaces {
		return false
	}
	var errA, errB error
	c.extA, errA = c.mapper.Map(int(a.Fd()), c.extA[:0])
	c.extB, errB = c.mapper.Map(int(b.Fd()), c.extB[:0])
	return errA == nil && errB == nil && extent.Same(c.extA, c.extB)
}

// sameContent reads what is data in either file.
func (c *Comparer) sameContent(a, b *os.File, sizeA, sizeB int64) (bool, error) {
	for pos, end := int64(0), max(sizeA, sizeB); ; {
		pos = min(dataFrom(a, pos, sizeA, end), dataFrom(b, pos, sizeB, end))
		if pos == end {
			return true, nil
		}
		n := min(int64(len(c.bufA)), end-pos)
		if err := readFull(a, c.bufA[:n], pos); err != nil {
			return false, err
		}
		if err := readFull(b, c.bufB[:n], pos); err != nil {
			return false, err
		}
		if !bytes.Equal(c.bufA[:n], c.bufB[:n]) {
			return false, nil
		}
		pos += n
	}
}

// dataFrom is where the data of a file begins at or behind pos, end if there is
// none.
func dataFrom(f *os.File, pos, size, end int64) int64 {
	if f == nil || pos >= size {
		return end
	}
	if at := nextData(int(f.Fd()), pos, size); at < size {
		return at
	}
	return end
}
