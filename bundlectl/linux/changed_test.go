//go:build linux

package linux

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
)

// pair is a bundle with an ext4 and a checkpoint of it, of which no band is one file
// with the bundle's.
type pair struct {
	*testing.T
	b   *bundle.Bundle
	dir string
	l   *layout
}

func newPair(t *testing.T) *pair {
	t.Helper()
	path := filepath.Join(t.TempDir(), "b.sparsebundle")
	if _, err := (Engine{}).Create(t.Context(), path, engine.CreateParams{Size: 1 << 30, BandSize: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{T: t, b: b, dir: filepath.Join(t.TempDir(), "checkpoint")}
	if err := os.CopyFS(p.dir, os.DirFS(b.BandsDir())); err != nil {
		t.Fatal(err)
	}
	if p.l, err = readLayout(b.Reader()); err != nil {
		t.Fatal(err)
	}
	return p
}

// write changes a directory's band at a place in the image.
func (p *pair) write(dir string, at int64, data ...byte) {
	p.Helper()
	f, err := os.OpenFile(filepath.Join(dir, bundle.BandName(at>>20)), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		p.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(data, at%(1<<20)); err != nil {
		p.Fatal(err)
	}
}

func (p *pair) want(want bool) {
	p.Helper()
	if have, err := differs(p.b, p.dir); have != want || err != nil {
		p.Errorf("differs: %v, %v, want %v", have, err, want)
	}
}

// TestBlocks changes one block of the bundle.
func TestBlocks(t *testing.T) {
	first := newPair(t)
	desc, err := first.l.descriptors(first.b.Reader(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	bitmap, table := int64(le.Uint32(desc[gdBitmapLo:])), int64(le.Uint32(desc[gdTableLo:]))
	journal := first.l.journal[0]
	for name, tt := range map[string]struct {
		block int64
		want  bool
	}{
		"superblock":            {0, false},
		"its copy in group 1":   {32768, false},
		"descriptors":           {1, true},
		"descriptors' copy":     {32769, true},
		"bitmap of group 0":     {bitmap, true},
		"inodes":                {table, true},
		"before the journal":    {journal.at - 1, true},
		"journal":               {journal.at, false},
		"end of the journal":    {journal.at + journal.n - 1, false},
		"free, behind the data": {journal.at + journal.n + 10, false},
		"group never written":   {2*32768 + 300, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.want(false)
			// Not in the journal's superblock where that is looked at.
			p.write(p.b.BandsDir(), tt.block*block+2000, 0xAA, 0x55)
			p.want(tt.want)
		})
	}
}

// TestJournalThatMatters has one to be replayed on one side: then its blocks are
// compared.
func TestJournalThatMatters(t *testing.T) {
	p := newPair(t)
	start := p.l.journal[0].at*block + jsbStart
	for _, dir := range []string{p.dir, p.b.BandsDir()} {
		p.write(dir, start, binary.BigEndian.AppendUint32(nil, 1)...)
	}
	p.want(false)
	p.write(p.dir, start+20*block, 0xAA)
	p.want(true)
	p.write(p.dir, start, 0, 0, 0, 0)
	p.want(true)
}

// TestZeros: a band may lack its last zeros, or be missing where it has nothing else.
func TestZeros(t *testing.T) {
	p := newPair(t)
	journal := p.l.journal[0]
	used := journal.at*block + 5<<20
	for _, at := range []int64{used, used + 1<<20, 5 << 20} {
		p.write(p.dir, at, 0)
	}
	p.want(false)
	p.write(p.dir, 5<<20, 1) // among the inodes
	p.want(true)
}

func TestLarger(t *testing.T) {
	p := newPair(t)
	p.write(p.b.BandsDir(), sbAt+sbBlocksLo, 0, 0, 2, 0)
	p.want(true)
}

// TestUnknownFilesystem: every block matters.
func TestUnknownFilesystem(t *testing.T) {
	p := newPair(t)
	for _, dir := range []string{p.dir, p.b.BandsDir()} {
		p.write(dir, sbAt+sbMagic, 'N', 'O')
	}
	p.want(false)
	p.write(p.dir, 0, 1)
	p.want(true)
}

// TestListing: bands are alike where they are one file, unless the numbers in a listing
// are made up. Files that are no bands do not count, nor do bands behind the end.
func TestListing(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, name := range []string{"0", "1", "2", "20", "notes"} {
		if err := os.WriteFile(filepath.Join(a, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Link(a+"/0", b+"/0"), os.Link(a+"/1", b+"/2"), os.WriteFile(b+"/5", nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	x, errX := listBands(a)
	y, errY := listBands(b)
	if err := errors.Join(errX, errY); err != nil {
		t.Fatal(err)
	}
	if have := x.unlike(y, 32); !slices.Equal(have, []int64{1, 2, 5}) {
		t.Errorf("unlike: %v", have)
	}
	y.add([]byte("abcdefgh"+"offset.."+"\x18\x00"+"\x04"+".\x00\x00\x00\x00"), 7)
	if have := x.unlike(y, 32); !slices.Equal(have, []int64{0, 1, 2, 5}) {
		t.Errorf("unlike where numbers are made up: %v", have)
	}
	if _, err := listBands(a + "/0"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
}
