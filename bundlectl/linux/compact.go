//go:build linux

package linux

import (
	"context"
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"agentfs.internal/tool/record"
)

// fitrim is FITRIM of linux/fs.h: _IOWR('X', 121, struct fstrim_range).
const fitrim = 0xC0185879

// fstrimRange is struct fstrim_range of linux/fs.h, in bytes.
type fstrimRange struct{ start, length, minLength uint64 }

// Compact makes the filesystem discard all that it does not use; the server
// gives it back to the host.
func (e Engine) Compact(ctx context.Context, path string) (*record.Image, error) {
	err := e.whileMounted(ctx, path, func(a *attachment) error { return trim(a.mounts[0]) })
	if err != nil {
		return nil, wrap("compact", path, err)
	}
	return inspect(path)
}

func trim(mount string) error {
	if err := syncMount(mount); err != nil { // what was freed just now, too
		return err
	}
	dir, err := os.Open(mount)
	if err != nil {
		return err
	}
	defer dir.Close()
	r := fstrimRange{length: math.MaxUint64}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), fitrim, uintptr(unsafe.Pointer(&r))); errno != 0 {
		return fmt.Errorf("trim %s: %w", mount, errno)
	}
	return syncMount(mount)
}
