package archive

import (
	"errors"
	"io"
)

// tail reads a tar and remembers its last block: what it ends with is zeros, or it has
// been cut off between two entries.
type tail struct {
	io.Reader
	last [block]byte
	size int64
}

func (t *tail) Read(buf []byte) (int, error) {
	n, err := t.Reader.Read(buf)
	t.note(buf[:n])
	return n, err
}

func (t *tail) note(p []byte) {
	t.size += int64(len(p))
	if len(p) >= block {
		copy(t.last[:], p[len(p)-block:])
		return
	}
	copy(t.last[:], t.last[len(p):])
	copy(t.last[block-len(p):], p)
}

// end reads what is behind the end of the tar, so that the sums of its compressed form
// are compared, too.
func (t *tail) end() error {
	if t.size < block || !allZero(t.last[:]) {
		return errors.New("the archive ends too early")
	}
	if _, err := io.Copy(io.Discard, t.Reader); err != nil {
		return broken(err)
	}
	return nil
}
