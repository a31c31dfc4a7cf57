package hdiutil

import (
	"context"
	"fmt"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// Compact gives back the bands that the filesystem no longer uses.
func (Engine) Compact(ctx context.Context, path string) (*record.Image, error) {
	err := detached(ctx, path)
	if err == nil {
		// Without the flag it refuses to run on a battery.
		_, err = retry(ctx, "compact", path, "-batteryallowed")
	}
	if err != nil {
		return nil, wrap(status.General, "compact", path, err)
	}
	return describe(path, nil)
}

// Resize grows the image and the APFS container in it.
func (Engine) Resize(ctx context.Context, path string, size int64) (*record.Image, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	err = detached(ctx, path)
	if err == nil {
		err = resize(ctx, b, size)
	}
	if err != nil {
		return nil, wrap(status.General, "resize", path, err)
	}
	return describe(path, nil)
}

func resize(ctx context.Context, b *bundle.Bundle, size int64) error {
	if size == b.Info.Size {
		return nil
	}
	if size < b.Info.Size {
		return fmt.Errorf("%d bytes is less than it has, %d: it can only grow", size, b.Info.Size)
	}
	_, err := retry(ctx, "resize", "-size", megabytes(size), b.Path)
	return err
}

// detached refuses a bundle that is attached: hdiutil changes only images that
// nobody uses.
func detached(ctx context.Context, path string) error {
	d, err := find(ctx, path)
	if err != nil || d == nil {
		return err
	}
	where := d.device()
	if v, err := d.volume(); err == nil {
		where = v.Mount
	}
	return status.Errorf(status.Mount, "attached at %q", where).
		WithHint("bundlectl detach %s", shell(path))
}
