//go:build linux

// Package linux attaches bundles on Linux: a band server serves the image over
// FUSE (package serve), a loop device stands on it with direct I/O, and ext4 in
// it is mounted.
//
// Nothing of this outlives its use. The FUSE mount is detached from every
// namespace and lives as long as the loop device holds its one file; the loop
// device clears itself when the filesystem is unmounted; the server ends when
// the FUSE mount does. Whichever process is killed at whichever step, closing
// its descriptors takes the rest down.
package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// Engine is the Linux engine. Its zero value is ready to use.
type Engine struct{}

var _ engine.Engine = Engine{}

// Check tells whether this machine can attach bundles.
func (Engine) Check(context.Context) error {
	if os.Geteuid() != 0 {
		return cannot("not root: loop devices and mounts need it", "run it as root, or with sudo -E")
	}
	for _, dev := range []struct{ path, module string }{{"/dev/fuse", "fuse"}, {"/dev/loop-control", "loop"}} {
		fd, err := unix.Open(dev.path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return cannot(fmt.Sprintf("%s: %v", dev.path, err), "modprobe %s; in a container, pass the device in", dev.module)
		}
		unix.Close(fd)
	}
	return checkMkfs()
}

func checkMkfs() error {
	if _, err := findMkfs(); err != nil {
		return cannot("mkfs.ext4 is not installed", "apt-get install e2fsprogs")
	}
	return nil
}

func findMkfs() (string, error) { return findProgram("mkfs.ext4") }

// findProgram looks where the programs of root live also when the PATH is a plain
// user's.
func findProgram(name string) (string, error) {
	for _, path := range []string{name, "/usr/sbin/" + name, "/sbin/" + name} {
		if path, err := exec.LookPath(path); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

func cannot(what, hint string, args ...any) error {
	return status.Errorf(status.CannotRun, "cannot run here: %s", what).WithHint(hint, args...)
}

// inspect gives the bundle's record with its bands counted.
func inspect(path string) (*record.Image, error) {
	img, err := look(path)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	img.Bands, img.Bytes, err = b.Usage()
	return img, err
}

// look gives the bundle's record, attached or not, without a look at the bands.
func look(path string) (*record.Image, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	img := &record.Image{BundlePath: path, SizeBytes: b.Info.Size, BandSize: b.Info.BandSize}
	a, err := find(path)
	if errors.Is(err, errNotAttached) {
		return img, nil
	}
	if err != nil {
		return nil, err
	}
	a.fill(img)
	return img, nil
}
