package bundle

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Reader reads the image that bands make up. It is for bands that nobody writes and
// for other people's; it opens a band for each piece that it reads.
type Reader struct {
	dir  string
	info Info
}

// Reader gives a reader of the whole image.
func (b *Bundle) Reader() *Reader { return b.ReaderOf(b.BandsDir()) }

// ReaderOf gives a reader of the image that the bands in another directory make up,
// a checkpoint of this one.
func (b *Bundle) ReaderOf(dir string) *Reader { return &Reader{dir, b.Info} }

// Size is the image's size in bytes.
func (r *Reader) Size() int64 { return r.info.Size }

// ReadAt reads len(p) bytes from off on; at the image's end fewer, with io.EOF.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	var eof error
	if left := max(r.Size()-off, 0); int64(len(p)) > left {
		p, eof = p[:left], io.EOF
	}
	for done := 0; done < len(p); {
		n, err := r.readBand(p[done:], off+int64(done))
		if err != nil {
			return done, err
		}
		done += n
	}
	return len(p), eof
}

// readBand reads to the end of p or of the band, whichever comes first.
func (r *Reader) readBand(p []byte, off int64) (int, error) {
	size := r.info.BandSize
	p = p[:min(int64(len(p)), size-off%size)]
	f, err := os.Open(filepath.Join(r.dir, BandName(off/size)))
	if errors.Is(err, fs.ErrNotExist) {
		clear(p)
		return len(p), nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return len(p), readFull(f, p, off%size)
}
