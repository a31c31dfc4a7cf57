//go:build linux

package bands

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	testBand = 64 << 10
	testSize = 10*testBand + 3*Align // the last band is shorter
)

// fixture is an image beside a plain slice that says what it must hold, and the
// copies by hard links that must never change.
type fixture struct {
	t      *testing.T
	dir    string
	direct bool
	im     *Image
	model  []byte
	sealed map[string][]byte // directory of links: its content
}

func newFixture(t *testing.T, direct bool) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), direct: direct, model: make([]byte, testSize), sealed: map[string][]byte{}}
	if err := os.Mkdir(filepath.Join(f.dir, "bands"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.open()
	t.Cleanup(func() { f.im.Close() })
	return f
}

func (f *fixture) open() {
	f.t.Helper()
	im, err := Open(f.dir, testSize, testBand, f.direct)
	if err != nil {
		f.t.Fatal(err)
	}
	f.im = im
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// aligned gives a buffer that direct I/O accepts.
func aligned(t testing.TB, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

// readBands puts a directory of bands together as any reader of the format does.
func readBands(t *testing.T, dir string) []byte {
	t.Helper()
	out := make([]byte, testSize)
	for i := range (testSize + testBand - 1) / testBand {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%x", i)))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		copy(out[i*testBand:], data)
	}
	return out
}

// seal links every band into a new directory, as a checkpoint does.
func (f *fixture) seal(name string) {
	f.t.Helper()
	dir := filepath.Join(f.dir, name)
	f.must(os.Mkdir(dir, 0o700))
	names, err := os.ReadDir(filepath.Join(f.dir, "bands"))
	f.must(err)
	f.im.CloseGate()
	defer f.im.OpenGate()
	for _, e := range names {
		band := filepath.Join(f.dir, "bands", e.Name())
		f.must(os.Chmod(band, 0o400))
		f.must(os.Link(band, filepath.Join(dir, e.Name())))
	}
	f.sealed[dir] = bytes.Clone(f.model)
}

func (f *fixture) check() {
	f.t.Helper()
	if got := readBands(f.t, filepath.Join(f.dir, "bands")); !bytes.Equal(got, f.model) {
		f.t.Fatalf("the bands differ from what was written, first at byte %d", firstDifference(got, f.model))
	}
	for dir, want := range f.sealed {
		if got := readBands(f.t, dir); !bytes.Equal(got, want) {
			f.t.Fatalf("%s was changed at byte %d", filepath.Base(dir), firstDifference(got, want))
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// TestAgainstModel does random things to the image and to a slice, and seals it
// now and then.
// needRoot skips where sealed bands cannot be opened for writing: the server is root.
func needRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root opens sealed bands for writing")
	}
}

func TestAgainstModel(t *testing.T) {
	needRoot(t)
	for _, direct := range []bool{false, true} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("direct=%v/seed=%d", direct, seed), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, direct)
				rnd := rand.New(rand.NewPCG(seed, 1))
				buf := aligned(t, testSize)
				for step := range 400 {
					f.step(rnd, buf, step)
				}
				f.check()
			})
		}
	}
}

func (f *fixture) step(rnd *rand.Rand, buf []byte, step int) {
	f.t.Helper()
	off := rnd.Int64N(testSize/Align) * Align
	n := min(1+rnd.Int64N(40), (testSize-off)/Align) * Align
	if rnd.IntN(4) == 0 { // exactly one band
		off -= off % testBand
		n = min(testBand, testSize-off)
	}
	p := buf[:n]
	switch rnd.IntN(20) {
	case 0:
		f.seal(fmt.Sprintf("v%d", step))
	case 1:
		f.must(f.im.Flush())
	case 2:
		f.must(f.im.Close())
		f.open()
	case 3, 4, 5:
		f.must(f.im.Punch(off, n))
		clear(f.model[off : off+n])
	case 6, 7, 8, 9:
		f.must(f.im.ReadAt(p, off))
		if !bytes.Equal(p, f.model[off:off+n]) {
			f.t.Fatalf("step %d: read of %d bytes at %d differs", step, n, off)
		}
	default:
		fill := byte(rnd.IntN(3)) // zeros too
		for i := range p {
			p[i] = fill * byte(rnd.IntN(256))
		}
		f.must(f.im.WriteAt(p, off))
		copy(f.model[off:], p)
	}
}

func TestZerosMakeNoBand(t *testing.T) {
	f := newFixture(t, true)
	f.must(f.im.WriteAt(aligned(t, testBand), 0))
	f.wantBands(0)
}

func TestPunchedBandIsRemoved(t *testing.T) {
	f := newFixture(t, true)
	f.fill(1)
	f.wantBands(11)
	f.must(f.im.Punch(0, testBand))
	f.wantBands(10)
	clear(f.model[:testBand])
	f.check()
}

// TestDiscardLeavesSealedBands: a hole in a sealed band would take a copy of the
// rest, so discard that need not read as zeros leaves it alone.
func TestDiscardLeavesSealedBands(t *testing.T) {
	f := newFixture(t, true)
	f.fill(1)
	f.seal("v1")
	f.im.SetDiscardOnly(true)
	f.must(f.im.Punch(Align, Align))
	f.check()
	if links := linksOf(t, filepath.Join(f.dir, "bands", "0")); links != 2 {
		t.Errorf("band 0 has %d links, want 2: it was copied", links)
	}
	f.must(f.im.Punch(0, testBand))
	clear(f.model[:testBand])
	f.check()
}

// TestUnsealedAgain: when its checkpoint is gone, a band is written in place.
func TestUnsealedAgain(t *testing.T) {
	f := newFixture(t, true)
	f.fill(1)
	f.seal("v1")
	f.must(os.RemoveAll(filepath.Join(f.dir, "v1")))
	clear(f.sealed)
	before := inode(t, filepath.Join(f.dir, "bands", "0"))
	f.fill(2)
	f.check()
	if inode(t, filepath.Join(f.dir, "bands", "0")) != before {
		t.Error("band 0 was copied though it had one link")
	}
}

func TestGateHoldsWriters(t *testing.T) {
	f := newFixture(t, true)
	f.fill(1)
	f.im.CloseGate()
	done := make(chan error, 1)
	p := aligned(t, Align)
	go func() { done <- f.im.WriteAt(p, 0) }()
	select {
	case <-done:
		t.Fatal("a write went through a closed gate")
	case <-time.After(50 * time.Millisecond):
	}
	f.must(f.im.ReadAt(aligned(t, Align), 0)) // reads go on
	f.must(f.im.Flush())                      // and flushes
	f.im.OpenGate()
	f.must(<-done)
}

// TestStaleCopyIsSwept: a server killed in the middle of a copy leaves a file
// that the next one removes.
func TestStaleCopyIsSwept(t *testing.T) {
	f := newFixture(t, true)
	stale := filepath.Join(f.dir, tempPrefix+"7")
	f.must(os.WriteFile(stale, []byte("half"), 0o600))
	f.must(f.im.Close())
	f.open()
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("stale copy: %v, want it gone", err)
	}
}

func TestOutOfRange(t *testing.T) {
	f := newFixture(t, false)
	for _, off := range []int64{-1, testSize - 1, testSize} {
		if err := f.im.WriteAt(make([]byte, 2), off); err == nil {
			t.Errorf("write at %d: no error", off)
		}
	}
}

func TestResize(t *testing.T) {
	f := newFixture(t, true)
	f.fill(1)
	f.must(f.im.Resize(testSize + 5*testBand))
	p := aligned(t, Align)
	p[0] = 9
	f.must(f.im.WriteAt(p, testSize))
	q := aligned(t, Align)
	f.must(f.im.ReadAt(q, testSize))
	if q[0] != 9 {
		t.Error("what was written behind the old end reads differently")
	}
	if err := f.im.Resize(testSize); err == nil {
		t.Error("an image could shrink")
	}
}

// TestManyAtOnce has writers in regions of their own, flushes and seals side by
// side; run with -race. The descriptors are kept few, so that bands are closed
// and opened again.
func TestManyAtOnce(t *testing.T) {
	needRoot(t)
	f := newFixture(t, true)
	f.im.opened.max = 3
	var wg sync.WaitGroup
	for w := range 4 {
		p := aligned(t, Align)
		wg.Go(func() { f.writer(w, p) })
	}
	for i := range 5 {
		f.sealOnly(fmt.Sprintf("v%d", i))
		if err := f.im.Flush(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	for w := range 4 {
		for at := int64(w) * Align; at+Align <= testSize; at += 4 * Align {
			for i := range Align {
				f.model[at+int64(i)] = byte(w + 20)
			}
		}
	}
	f.check()
}

// writer writes every fourth block, twenty times.
func (f *fixture) writer(w int, p []byte) {
	for round := range 21 {
		for i := range p {
			p[i] = byte(w + round)
		}
		for at := int64(w) * Align; at+Align <= testSize; at += 4 * Align {
			if err := f.im.WriteAt(p, at); err != nil {
				f.t.Error(err)
				return
			}
		}
	}
}

// sealOnly seals and remembers what the links hold at that moment.
func (f *fixture) sealOnly(name string) {
	f.seal(name)
	dir := filepath.Join(f.dir, name)
	f.sealed[dir] = readBands(f.t, dir)
}

func (f *fixture) fill(b byte) {
	f.t.Helper()
	p := aligned(f.t, testSize)
	for i := range p {
		p[i] = b
	}
	f.must(f.im.WriteAt(p, 0))
	copy(f.model, p)
}

func (f *fixture) wantBands(n int) {
	f.t.Helper()
	names, err := os.ReadDir(filepath.Join(f.dir, "bands"))
	f.must(err)
	if len(names) != n {
		f.t.Fatalf("%d bands, want %d", len(names), n)
	}
}

func linksOf(t *testing.T, path string) uint64 { return uint64(stat(t, path).Nlink) }
func inode(t *testing.T, path string) uint64   { return stat(t, path).Ino }

func stat(t *testing.T, path string) *unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return &st
}

// A band that somebody deletes under the server is an error for who writes to it:
// once the server asked for ever whether it may.
func TestBandDeleted(t *testing.T) {
	f := newFixture(t, false)
	f.must(f.im.WriteAt([]byte("data"), 0))
	f.must(os.Remove(filepath.Join(f.dir, "bands", "0")))
	if err := f.im.WriteAt([]byte("more"), 0); !errors.Is(err, unix.EIO) {
		t.Errorf("write: %v, want %v", err, unix.EIO)
	}
}
