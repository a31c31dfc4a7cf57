package hdiutil

import (
	"cmp"
	"context"
	"errors"
	"os"

	"agentfs.internal/tool/status"
)

// Quiesce writes out what the volume has in memory and runs run. Writing goes on
// meanwhile, for macOS has no way to hold it: where a program writes while run
// clones the bands, they are of slightly different moments. docs/macos.md says
// what that means for APFS.
func (Engine) Quiesce(ctx context.Context, path string, run func() error) error {
	if _, err := synced(ctx, path); err != nil {
		return wrap(status.Mount, "quiesce", path, err)
	}
	return run()
}

// synced gives the disk of a bundle whose bands hold what was written to its volume.
func synced(ctx context.Context, path string) (*disk, error) {
	d, err := find(ctx, path)
	if err == nil && d == nil {
		err = errors.New("not attached")
	}
	if err != nil {
		return nil, err
	}
	v, err := d.volume()
	if err != nil {
		return nil, err
	}
	return d, syncVolume(v.Mount)
}

// syncDir syncs a directory; package os asks macOS for F_FULLFSYNC, which
// empties the drive's cache too.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return cmp.Or(d.Sync(), d.Close())
}
