//go:build linux

package linux

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/tool/status"
)

// whileMounted runs f with the filesystem mounted: where it is, or for the time
// of the call in a private directory.
func (e Engine) whileMounted(ctx context.Context, path string, f func(a *attachment) error) error {
	if err := e.Check(ctx); err != nil {
		return err
	}
	a, err := find(path)
	if err == nil && a.pid != 0 && len(a.mounts) > 0 {
		return f(a)
	}
	if err == nil {
		return status.Errorf(status.Mount, "its band server is dead").WithHint("bundlectl detach %s", path)
	}
	if !errors.Is(err, errNotAttached) {
		return err
	}
	return e.whileMountedAside(path, f)
}

func (e Engine) whileMountedAside(path string, f func(a *attachment) error) error {
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(runDir, 0o700); err != nil {
		return err
	}
	mount, err := os.MkdirTemp(runDir, "mount-*")
	if err != nil {
		return err
	}
	defer os.Remove(mount)
	if err := attach(b, mount); err != nil {
		return err
	}
	a, err := find(path)
	if err != nil {
		return errors.Join(err, unix.Unmount(mount, 0))
	}
	return errors.Join(f(a), a.unmount())
}
