//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/serve"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	compactMounted = fault.Define("bundlectl.compact.mounted") // a detached bundle, for the time of the call
	compactSynced  = fault.Define("bundlectl.compact.synced")  // what was freed just now is known to be free
	compactTrimmed = fault.Define("bundlectl.compact.trimmed") // and discarded
)

// fitrim is FITRIM of linux/fs.h: _IOWR('X', 121, struct fstrim_range).
const fitrim = 0xC0185879

// fstrimRange is struct fstrim_range of linux/fs.h, in bytes.
type fstrimRange struct{ start, length, minLength uint64 }

// Compact makes the filesystem discard all that it does not use; the server
// gives it back to the host.
func (e Engine) Compact(ctx context.Context, path string) (*record.Image, error) {
	if err := e.compact(ctx, path); err != nil {
		return nil, wrap("compact", path, err)
	}
	return inspect(path)
}

func (e Engine) compact(ctx context.Context, path string) error {
	if err := e.Check(ctx); err != nil {
		return err
	}
	a, err := find(path)
	switch {
	case errors.Is(err, errNotAttached):
		return compactDetached(path)
	case err != nil:
		return err
	case a.pid == 0 || len(a.mounts) == 0:
		return status.Errorf(status.Mount, "its band server is dead").WithHint("bundlectl detach %s", path)
	}
	dir, err := os.Open(a.mounts[0])
	if err != nil {
		return err
	}
	defer dir.Close()
	return trim(dir)
}

// compactDetached mounts a bundle for the time of the call, in no namespace: the mount
// goes with this process, however that ends. An attach waits for it.
func compactDetached(path string) error {
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	s, err := newSession(b)
	if err != nil {
		return err
	}
	defer s.close(false)
	if _, err := ask(s.id, serve.Request{Op: "mounted", Device: s.loop.path}); err != nil {
		return err
	}
	mount, err := mountApart(s.loop.path, "discard")
	if err != nil {
		return err
	}
	defer unix.Close(mount)
	if err := compactMounted.Reach(); err != nil {
		return err
	}
	fd, err := unix.Openat(mount, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	return trim(dir)
}

// trim discards what the filesystem that dir is on does not use.
func trim(dir *os.File) error {
	if err := syncTree(dir); err != nil { // what was freed just now, too
		return err
	}
	if err := compactSynced.Reach(); err != nil {
		return err
	}
	r := fstrimRange{length: math.MaxUint64}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), fitrim, uintptr(unsafe.Pointer(&r))); errno != 0 {
		return fmt.Errorf("trim %s: %w", dir.Name(), errno)
	}
	if err := compactTrimmed.Reach(); err != nil {
		return err
	}
	return syncTree(dir)
}
