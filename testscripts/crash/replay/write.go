//go:build linux

package replay

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// sector is the unit in bytes in which a disk writes, page that in which holes are made.
const (
	sector = 512
	page   = 4096
)

// writeTo makes a crash state of the home in dir, which is empty.
func (h *home) writeTo(dir, dbs string, s State) error {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(dbs, h.db))); err != nil {
		return err
	}
	for _, path := range h.order {
		if f := h.files[path]; !f.isBand() {
			if err := f.writeTo(filepath.Join(dir, path)); err != nil {
				return err
			}
		}
	}
	lost := newLoss(s)
	first := map[*inode]string{}
	for _, path := range slices.Sorted(maps.Keys(h.bands)) {
		n := h.bands[path]
		if other, ok := first[n]; ok {
			if err := os.Link(filepath.Join(dir, other), filepath.Join(dir, path)); err != nil {
				return err
			}
			continue
		}
		first[n] = path
		mode := fs.FileMode(0o400)
		if n.names == 1 && isLive(path) {
			mode = 0o600
		}
		if err := writeBand(filepath.Join(dir, path), mode, lost.left(n)); err != nil {
			return err
		}
	}
	return nil
}

func (f File) writeTo(path string) error {
	mode := fs.FileMode(f.Mode & 0o777)
	switch f.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		return os.Mkdir(path, mode)
	case syscall.S_IFLNK:
		return os.Symlink(string(f.Data), path)
	}
	return os.WriteFile(path, f.Data, mode)
}

// writeBand writes a file with holes where there are zeros.
func writeBand(path string, mode fs.FileMode, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = f.Truncate(int64(len(data)))
	for at := 0; at < len(data) && err == nil; at += page {
		if part := data[at:min(at+page, len(data))]; !bytes.Equal(part, zeros[:len(part)]) {
			_, err = f.WriteAt(part, int64(at))
		}
	}
	return errors.Join(err, f.Close())
}

var zeros [page]byte

// loss decides what is left of a file.
type loss struct {
	mode   Mode
	random *rand.Rand
	kept   float64 // part of the writes that are not durable
}

func newLoss(s State) loss {
	random := rand.New(rand.NewPCG(s.Seed, 4))
	return loss{s.Mode, random, []float64{0.1, 0.5, 0.9}[random.IntN(3)]}
}

// left is what is left of a file's content.
func (l loss) left(n *inode) []byte {
	switch l.mode {
	case Prefix:
		return n.content()
	case Flushed:
		return n.durable
	}
	left := slices.Clone(n.durable)
	for _, c := range n.since {
		if l.random.Float64() >= l.kept {
			continue
		}
		if l.random.IntN(5) == 0 {
			c = l.tear(c)
		}
		left = put(left, c)
	}
	return left
}

// tear takes off the beginning or the end of a write.
func (l loss) tear(c change) change {
	at := l.random.IntN(len(c.data)/sector+1) * sector
	if l.random.IntN(2) == 0 {
		return change{c.at, c.off, c.data[:at]}
	}
	return change{c.at, c.off + int64(at), c.data[at:]}
}
