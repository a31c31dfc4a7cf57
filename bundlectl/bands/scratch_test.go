//go:build linux

package bands

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A scratch image reads as a plain buffer that had the same writes, and the bands
// stay as they were.
func TestScratch(t *testing.T) {
	const bandSize, size = 4 * Align, 10*Align + 512
	dir, want := t.TempDir(), make([]byte, size)
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(p []byte) {
		for i := range p {
			p[i] = byte(r.Uint32())
		}
	}
	fill(want[:bandSize])
	fill(want[2*bandSize : 2*bandSize+100]) // a short band; the one between is missing
	before := map[string][]byte{"0": bytes.Clone(want[:bandSize]), "2": bytes.Clone(want[2*bandSize : 2*bandSize+100])}
	for name, data := range before {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenScratch(dir, size, bandSize)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2000 {
		off := r.Int64N(size)
		n := 1 + r.Int64N(min(size-off, 3*Align))
		if r.IntN(4) == 0 {
			fill(want[off : off+n])
			if err := s.WriteAt(want[off:off+n], off); err != nil {
				t.Fatal(err)
			}
		}
		off = r.Int64N(size)
		got := make([]byte, 1+r.Int64N(size-off))
		if err := s.ReadAt(got, off); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want[off:off+int64(len(got))]) {
			t.Fatalf("other bytes at %d", off)
		}
	}
	for name, data := range before {
		if now, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(now, data) {
			t.Errorf("band %s has changed (%v)", name, err)
		}
	}
	if err := s.WriteAt(make([]byte, 2), size-1); !errors.Is(err, unix.EINVAL) {
		t.Errorf("write behind the end: %v", err)
	}
}

// A band that is deleted under a reader is an error and not zeros.
func TestScratchBandGone(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "0")
	if err := os.WriteFile(name, []byte("data"), 0o400); err != nil {
		t.Fatal(err)
	}
	s, err := OpenScratch(dir, Align, Align)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadAt(make([]byte, 4), 0); !errors.Is(err, unix.EIO) {
		t.Errorf("read of a band that is gone: %v", err)
	}
}
