package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// chunk is how much of an image is held in memory at once.
const chunk = 1 << 20

// FromImage cuts a raw image into the bands of a bundle that has none yet, and
// syncs them. Holes and blocks of zeros are not stored, so a band ends with its
// last block that is not all zeros, and a band without one does not exist.
func FromImage(bundleDir string, image *os.File, info Info) error {
	if st, err := image.Stat(); err != nil {
		return wrapBundle("fill", bundleDir, err)
	} else if st.Size() > info.Size {
		return wrapBundle("fill", bundleDir, fmt.Errorf("the image has %d bytes, more than %d", st.Size(), info.Size))
	}
	return wrapBundle("fill", bundleDir, fromImage(bundleDir, image, info))
}

func fromImage(bundleDir string, image *os.File, info Info) error {
	c := &cutter{dir: filepath.Join(bundleDir, bandsName), info: info, band: -1, sync: newSyncer()}
	buf := make([]byte, chunk)
	err := extents(image, info.Size, func(lo, hi int64) error {
		return c.copy(image, lo, hi, buf)
	})
	c.close()
	err = cmp.Or(err, c.sync.wait())
	if err != nil {
		return err
	}
	return syncDir(c.dir)
}

// cutter writes an image's data in order, one band after the other.
type cutter struct {
	dir  string
	info Info
	band int64    // the band that is open, -1 for none
	file *os.File // nil while the band has nothing but zeros
	sync *syncer
}

// copy stores the image's bytes from lo to hi.
func (c *cutter) copy(image io.ReaderAt, lo, hi int64, buf []byte) error {
	for lo < hi {
		// Chunks end at multiples of their size: blocks stay whole.
		n := min(hi, lo-lo%chunk+chunk) - lo
		if err := readFull(image, buf[:n], lo); err != nil {
			return err
		}
		if err := c.store(buf[:n], lo); err != nil {
			return err
		}
		lo += n
	}
	return nil
}

// store writes the blocks of p that are not zeros; at is their place in the image.
func (c *cutter) store(p []byte, at int64) error {
	for len(p) > 0 {
		n := min(int64(len(p)), block-at%block, c.info.BandSize-at%c.info.BandSize)
		if !isZero(p[:n]) {
			// The run goes on to the next block of zeros or the band's end.
			n = c.run(p, at, n)
			if err := c.write(p[:n], at); err != nil {
				return err
			}
		}
		p, at = p[n:], at+n
	}
	return nil
}

// run extends a stretch of n bytes by the blocks after it that hold data too.
func (c *cutter) run(p []byte, at, n int64) int64 {
	room := min(int64(len(p)), c.info.BandSize-at%c.info.BandSize)
	for n < room {
		m := min(block, room-n)
		if isZero(p[n : n+m]) {
			break
		}
		n += m
	}
	return n
}

// write puts p, which does not cross bands, into its band.
func (c *cutter) write(p []byte, at int64) error {
	if i := at / c.info.BandSize; i != c.band {
		c.close()
		f, err := os.OpenFile(filepath.Join(c.dir, BandName(i)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if err != nil {
			return err
		}
		c.band, c.file = i, f
	}
	_, err := c.file.WriteAt(p, at%c.info.BandSize)
	return err
}

// close hands the open band over to be synced.
func (c *cutter) close() {
	if c.file != nil {
		c.sync.add(c.file)
	}
	c.band, c.file = -1, nil
}

// ToImage writes the image's bytes into a file, holes where bands have them. The
// file is emptied first.
func (b *Bundle) ToImage(image *os.File) error {
	return wrapBundle("read", b.Path, b.toImage(image))
}

func (b *Bundle) toImage(image *os.File) error {
	if err := cmp.Or(image.Truncate(0), image.Truncate(b.Info.Size)); err != nil {
		return err
	}
	list, err := b.Bands()
	if err != nil {
		return err
	}
	buf := make([]byte, chunk)
	for _, i := range list {
		if i >= b.Info.Bands() {
			break // of an image that was larger once
		}
		if err := b.copyBand(image, i, buf); err != nil {
			return fmt.Errorf("band %s: %w", BandName(i), err)
		}
	}
	return nil
}

// copyBand writes the data of band i to its place in the image.
func (b *Bundle) copyBand(image io.WriterAt, i int64, buf []byte) error {
	f, err := os.Open(b.BandPath(i))
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	base := i * b.Info.BandSize
	size := min(st.Size(), b.Info.BandSize, b.Info.Size-base)
	return extents(f, size, func(lo, hi int64) error {
		for ; lo < hi; lo += int64(len(buf)) {
			p := buf[:min(int64(len(buf)), hi-lo)]
			if err := readFull(f, p, lo); err != nil {
				return err
			}
			if _, err := image.WriteAt(p, base+lo); err != nil {
				return err
			}
		}
		return nil
	})
}

// readFull reads all of p; what lies behind the file's end is zeros.
func readFull(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	clear(p[n:])
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

var zeros [block]byte

// isZero tells whether p, at most a block, is all zeros.
func isZero(p []byte) bool { return bytes.Equal(p, zeros[:len(p)]) }
