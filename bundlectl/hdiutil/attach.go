package hdiutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// Attach attaches the bundle and mounts its volume.
func (Engine) Attach(ctx context.Context, path, mount string) (*record.Image, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	if err := free(ctx, path); err != nil {
		return nil, wrap(status.Mount, "attach", path, err)
	}
	made, err := prepare(path, mount)
	if err != nil {
		return nil, wrap(status.Mount, "attach", path, err)
	}
	d, err := attach(ctx, path, mount)
	if err != nil {
		if made {
			err = also(err, ignoreMissing(os.Remove(mount)))
		}
		return nil, wrap(status.Mount, "attach", path, err)
	}
	img, err := image(b, d)
	if err != nil {
		return nil, err
	}
	img.MountPath = mount // rather than hdiutil's spelling of it
	return img, nil
}

// NewUUID does nothing: hdiutil attaches copies of an APFS volume side by side.
func (Engine) NewUUID(string) error { return nil }

// free sees to it that the bundle is not attached. One without a mounted volume,
// as a detach that ended halfway leaves it, is nobody's and is detached.
func free(ctx context.Context, path string) error {
	d, err := find(ctx, path)
	if err != nil || d == nil {
		return err
	}
	if v, err := d.volume(); err == nil {
		return status.Errorf(status.Mount, "already attached at %q", v.Mount).
			WithHint("bundlectl detach %s", shell(v.Mount))
	}
	return detach(ctx, d)
}

// prepare makes the mountpoint, or takes an empty directory that is there.
func prepare(path, mount string) (made bool, err error) {
	if inside(mount, path) {
		return false, fmt.Errorf("mountpoint %q is inside the bundle", mount)
	}
	err = os.Mkdir(mount, 0o700)
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return false, empty(mount)
}

// empty wants an empty directory: a mount would hide what is in it.
func empty(mount string) error {
	d, err := os.Open(mount)
	if err != nil {
		return err
	}
	defer d.Close()
	switch names, err := d.Readdirnames(1); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("mountpoint %q: %w", mount, err)
	default:
		return fmt.Errorf("mountpoint %q is not empty: it holds %q", mount, names[0])
	}
}

func inside(path, dir string) bool {
	return strings.HasPrefix(public(path)+"/", public(dir)+"/")
}

func attach(ctx context.Context, path, mount string, more ...string) (*disk, error) {
	args := append([]string{"attach", "-plist",
		"-mountpoint", mount,
		"-nobrowse",     // no Finder window
		"-owners", "on", // real owners and modes
		"-noverify",   // no checksum of every band
		"-noautofsck", // APFS recovers by itself
	}, more...)
	out, err := retry(ctx, append(args, path)...)
	var d disk
	if err == nil {
		d, err = parseAttach(out)
	}
	if err == nil {
		err = mountedAt(d, mount)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, also(err, undo(ctx, path, mount))
	}
	return &d, nil
}

// mountedAt checks that the volume is where it was asked for.
func mountedAt(d disk, mount string) error {
	v, err := d.volume()
	if err != nil {
		return fmt.Errorf("attached, but %w", err)
	}
	if !samePath(v.Mount, mount) {
		return fmt.Errorf("already attached at %q", v.Mount)
	}
	return nil
}

// undo takes down what a failed attach has left. A volume at another mountpoint
// is another process's, which was faster, and stays.
func undo(ctx context.Context, path, mount string) error {
	ctx = context.WithoutCancel(ctx)
	d, err := find(ctx, path)
	if err != nil || d == nil {
		return err
	}
	if v, err := d.volume(); err == nil && !samePath(v.Mount, mount) {
		return nil
	}
	return detach(ctx, d)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
