package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func tmpfs(t *testing.T) string {
	at := t.TempDir()
	mount(t, at, "-t", "tmpfs", "-o", "size=64m", "tmpfs")
	return at
}

// loop mounts a new filesystem from an image.
func loop(t *testing.T, kind string, size int64) string {
	mkfs, err := exec.LookPath("mkfs." + kind)
	if err != nil {
		t.Skipf("mkfs.%s is not installed", kind)
	}
	image := filepath.Join(t.TempDir(), kind+".img")
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs, "-q", image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.%s: %v: %s", kind, err, out)
	}
	at := t.TempDir()
	t.Cleanup(func() { noLoop(t, image) }) // after the umount: clean-ups run last first
	mount(t, at, "-o", "loop", image)
	return at
}

// mount mounts, and proves at the end of the test that nothing stays mounted.
func mount(t *testing.T, at string, args ...string) {
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	if out, err := exec.Command("mount", append(args, at)...).CombinedOutput(); err != nil {
		t.Skipf("mount %s: %v: %s", strings.Join(args, " "), err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
		if info, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(info), at) {
			t.Errorf("%s is still mounted (%v)", at, err)
		}
	})
}

// noLoop proves that no loop device is left.
func noLoop(t *testing.T, image string) {
	out, err := exec.Command("losetup", "-j", image).Output()
	if err != nil || len(out) > 0 {
		t.Errorf("loop device left: %s (%v)", out, err)
	}
}
