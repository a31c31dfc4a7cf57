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
	mount, err := mounted(ctx, path)
	if err == nil {
		err = syncVolume(mount)
	}
	if err != nil {
		return wrap(status.Mount, "quiesce", path, err)
	}
	return run()
}

// mounted gives the mountpoint of a bundle's volume.
func mounted(ctx context.Context, path string) (string, error) {
	d, err := find(ctx, path)
	if err != nil {
		return "", err
	}
	if d == nil {
		return "", errors.New("not attached")
	}
	v, err := d.volume()
	return v.Mount, err
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
