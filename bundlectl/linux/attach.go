//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/serve"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	attachServed  = fault.Define("bundlectl.attach.served")
	attachLooped  = fault.Define("bundlectl.attach.looped")
	attachMounted = fault.Define("bundlectl.attach.mounted")
)

// mountFlags of the filesystem in the image.
const mountFlags = unix.MS_NOATIME | unix.MS_NOSUID | unix.MS_NODEV

// Attach mounts the bundle's filesystem.
func (e Engine) Attach(ctx context.Context, path, mount string) (*record.Image, error) {
	if err := e.Check(ctx); err != nil {
		return nil, err
	}
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	if err := takeDown(path); err != nil {
		return nil, wrap("attach", path, err)
	}
	if err := unix.Access(path, unix.W_OK); err != nil {
		return nil, wrap("attach", path, status.Errorf(status.Mount, "its bands cannot be written: %w", err).
			WithHint("attach --checkpoint reads a checkpoint without writing"))
	}
	made, err := checkMountpoint(path, mount)
	if err != nil {
		return nil, wrap("attach", path, err)
	}
	if err := attach(b, mount); err != nil {
		if made {
			_ = os.Remove(mount)
		}
		return nil, wrap("attach", path, err)
	}
	return look(path)
}

func attach(b *bundle.Bundle, mount string) error {
	s, err := newSession(b)
	if err != nil {
		return err
	}
	if err = attachLooped.Reach(); err == nil {
		err = unix.Mount(s.loop.path, mount, "ext4", mountFlags, "discard")
	}
	if err != nil {
		s.close(false)
		return mountError(b, mount, err)
	}
	if err = attachMounted.Reach(); err == nil {
		_, err = ask(s.id, serve.Request{Op: "mounted", Device: s.loop.path, Mount: mount})
	}
	s.close(true)
	if err != nil {
		return errors.Join(err, unix.Unmount(mount, unix.MNT_DETACH))
	}
	// mkfs makes it, e2fsck makes it again when it needs it; nobody wants it in a
	// project.
	_ = unix.Rmdir(filepath.Join(mount, "lost+found"))
	return nil
}

// nearlyFull tells whether the filesystem that a path is on has less than a
// sixty-fourth of its space left.
func nearlyFull(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Bavail < st.Blocks/64
}

func mountError(b *bundle.Bundle, mount string, err error) error {
	e := status.Errorf(status.Mount, "mount at %s: %w", mount, err)
	switch {
	case blockSize(b) == 0:
		e = status.Errorf(status.Mount, "mount at %s: no ext4 filesystem in the image: %w", mount, err)
	case nearlyFull(b.Path):
		_ = e.WithHint("the disk that the bundle is on is full, and mounting has to write: make room")
	case errors.Is(err, unix.EUCLEAN), errors.Is(err, unix.EIO), errors.Is(err, unix.EINVAL):
		_ = e.WithHint("the filesystem in the image may be damaged: restore a checkpoint")
	}
	return e
}

// takeDown makes way for an attach: what a killed server has left mounted goes;
// what a living one serves is in the way.
func takeDown(path string) error {
	a, err := find(path)
	if errors.Is(err, errNotAttached) {
		return nil
	}
	if err != nil {
		return err
	}
	if a.pid != 0 && a.ending() {
		return nil
	}
	if a.pid != 0 {
		e := status.Errorf(status.Mount, "already attached")
		if len(a.mounts) > 0 {
			e = status.Errorf(status.Mount, "already attached at %s", a.mounts[0])
		}
		return e.WithHint("bundlectl detach %s", path)
	}
	for _, m := range a.mounts {
		if err := unix.Unmount(m, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s, whose band server is dead: %w", m, err)
		}
	}
	return nil
}

// ending waits for a server whose filesystem is mounted nowhere any more, because a
// detach was killed before it had waited, and tells whether it has ended.
func (a *attachment) ending() bool {
	if a.device == "" || len(a.mounts) > 0 || len(namespacesWith(a.device)) > 0 {
		return false
	}
	c, err := dial(a.id)
	if err != nil {
		return true
	}
	defer c.close()
	return c.waitEnd(a.id, endTime) == nil
}

// checkMountpoint makes sure that mount is an empty directory of its own, and
// makes it if it is missing.
func checkMountpoint(path, mount string) (made bool, err error) {
	if inside(mount, path) {
		return false, status.Errorf(status.Mount, "mountpoint %s is inside the bundle", mount).WithHint("choose a directory outside of %s", filepath.Dir(path))
	}
	names, err := os.ReadDir(mount)
	if errors.Is(err, os.ErrNotExist) {
		return true, os.MkdirAll(mount, 0o755)
	}
	if err != nil {
		return false, status.Errorf(status.Mount, "mountpoint: %w", err)
	}
	if yes, err := mountinfo.Mounted(mount); err == nil && yes {
		return false, status.Errorf(status.Mount, "mountpoint %s: something is mounted there already", mount).WithHint("findmnt %s", mount)
	}
	if len(names) > 0 {
		return false, status.Errorf(status.Mount, "mountpoint %s is not empty", mount).WithHint("choose another directory, or move the files away")
	}
	return false, nil
}

// inside tells whether path is dir or below it, links resolved as far as the
// path exists.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(resolve(dir), resolve(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolve(parent), filepath.Base(path))
	}
	return path
}

// wrap names the operation and the bundle, and keeps status and hint.
func wrap(what, path string, err error) error {
	code := status.Of(err)
	if code == status.General && (what == "attach" || what == "detach") {
		code = status.Mount
	}
	e := status.Errorf(code, "%s %q: %w", what, path, err)
	e.Hint = status.HintOf(err)
	return e
}
