package hdiutil

import (
	"context"
	"errors"
	"fmt"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// Detach unmounts the bundle's volume and lets go of the bundle. The mountpoint
// will do for its name.
func (Engine) Detach(ctx context.Context, path string) (*record.Image, error) {
	return detachPath(ctx, path)
}

// DetachForce unmounts the volume though it is in use.
func (Engine) DetachForce(ctx context.Context, path string) (*record.Image, error) {
	return detachPath(ctx, path, "-force")
}

func detachPath(ctx context.Context, path string, how ...string) (*record.Image, error) {
	d, err := find(ctx, path)
	if err == nil && d == nil {
		err = errors.New("not attached")
	}
	if err == nil {
		err = detach(ctx, d, how...)
	}
	if err != nil {
		return nil, wrap(status.Mount, "detach", path, err)
	}
	if !samePath(d.Path, path) { // it was the mountpoint
		path = public(d.Path)
	}
	img, err := describe(path, nil)
	if err != nil { // it is detached all the same, whatever the bundle has become
		return &record.Image{BundlePath: path}, nil
	}
	return img, nil
}

// Handover is Detach: macOS has nothing quicker.
func (e Engine) Handover(ctx context.Context, path string) (*record.Image, error) {
	return e.Detach(ctx, path)
}

// detach ejects a disk. What counts in the end is whether it is gone: a try that
// unmounts the volume and then finds the disk busy makes the next one fail in
// other words, and one that timed out may still succeed.
func detach(ctx context.Context, d *disk, how ...string) error {
	device := d.device()
	if device == "" {
		return fmt.Errorf("%s info names no disk for it", program)
	}
	_, err := retry(ctx, append([]string{"detach", device}, how...)...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	now, findErr := find(ctx, d.Path)
	if findErr != nil {
		return also(err, findErr)
	}
	if now == nil {
		return nil
	}
	return stays(now, err)
}

// stays tells what of a disk that could not be detached is still there.
func stays(d *disk, err error) error {
	v, notMounted := d.volume()
	if notMounted != nil {
		return status.Errorf(status.Mount, "unmounted, but %s stays attached: %w", d.device(), err).
			WithHint("hdiutil detach %s", d.device())
	}
	if !passing(err) {
		return err
	}
	return status.Errorf(status.Mount, "mount %q is busy: %w", v.Mount, err).
		WithHint("lsof %s", shell(v.Mount))
}
