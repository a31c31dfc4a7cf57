//go:build linux

package bands

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// After a handover nothing is written, and a band that somebody has deleted does
// not read as zeros.
func TestRetired(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bands"), 0o700); err != nil {
		t.Fatal(err)
	}
	const band = 1 << 20
	im, err := Open(dir, 4*band, band, false)
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	block := bytes.Repeat([]byte{7}, Align)
	if err := im.WriteAt(block, 0); err != nil {
		t.Fatal(err)
	}
	if err := im.Retire(); err != nil {
		t.Fatal(err)
	}
	if err := im.WriteAt(block, 0); !errors.Is(err, errRetired) {
		t.Errorf("a write: %v", err)
	}
	if err := im.Punch(0, band); !errors.Is(err, errRetired) {
		t.Errorf("a hole: %v", err)
	}
	got := make([]byte, Align)
	if err := im.ReadAt(got, 0); err != nil || !bytes.Equal(got, block) {
		t.Errorf("a band that is there does not read: %v", err)
	}
	if err := im.ReadAt(got, 2*band); err == nil {
		t.Error("a band that is not there reads as zeros")
	}
}
