//go:build linux

package bands

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRoom fills a host of 64 MiB, whose reserve is 8 MiB, through an image: new
// bands are refused while there is room to change those that there are, and to
// reopen the image and change them again.
func TestRoom(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	root := t.TempDir()
	if err := unix.Mount("none", root, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(filepath.Join(root, "bands"), 0o700); err != nil {
		t.Fatal(err)
	}
	const band = 1 << 20
	open := func() *Image {
		im, err := Open(root, 1<<30, band, false)
		if err != nil {
			t.Fatal(err)
		}
		return im
	}
	im := open()
	data := bytes.Repeat([]byte("x"), band)
	var at int64
	for err := error(nil); err == nil; at += band {
		if err = im.WriteAt(data, at); err != nil && !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
	if at < 50*band || at > 60*band {
		t.Errorf("full after %d MiB of 64", at/band)
	}
	if err := im.WriteAt(data, 0); err != nil {
		t.Errorf("change: %v", err)
	}
	for range 3 {
		seal(t, root, "0")
		if err := im.WriteAt(data[:Align], 0); err != nil {
			t.Errorf("change of a sealed band: %v", err)
		}
		if err := errors.Join(im.Close(), os.RemoveAll(filepath.Join(root, "saved"))); err != nil {
			t.Fatal(err)
		}
		im = open()
	}
	if err := im.Close(); err != nil {
		t.Error(err)
	}
}

func seal(t *testing.T, root, name string) {
	t.Helper()
	saved := filepath.Join(root, "saved")
	err := errors.Join(os.Mkdir(saved, 0o700), os.Link(filepath.Join(root, "bands", name), filepath.Join(saved, name)))
	if err != nil {
		t.Fatal(err)
	}
}
