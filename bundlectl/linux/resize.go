//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/serve"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	resizeImage   = fault.Define("bundlectl.resize.image-grown")  // the filesystem not yet
	resizeDevice  = fault.Define("bundlectl.resize.device-grown") // of an attached bundle
	resizeChecked = fault.Define("bundlectl.resize.checked")      // a detached one's filesystem
)

// resizeFS is EXT4_IOC_RESIZE_FS: _IOW('f', 16, __u64), in blocks.
const resizeFS = 0x40086610

// Resize grows the image first and the filesystem then; an image that is larger
// than its filesystem does no harm, and the same call again ends the work.
func (e Engine) Resize(ctx context.Context, path string, size int64) (*record.Image, error) {
	if err := e.resize(ctx, path, size&^(serve.DirectBlock-1)); err != nil {
		return nil, wrap("resize", path, err)
	}
	return inspect(path)
}

func (e Engine) resize(ctx context.Context, path string, size int64) error {
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	if size < b.Info.Size {
		return status.Errorf(status.Usage, "%d bytes is smaller than the image, which has %d: it can only grow", size, b.Info.Size)
	}
	if err := e.Check(ctx); err != nil {
		return err
	}
	a, err := find(path)
	switch {
	case errors.Is(err, errNotAttached):
		return growDetached(ctx, b, size)
	case err != nil:
		return err
	case a.pid == 0 || len(a.mounts) == 0:
		return status.Errorf(status.Mount, "its band server is dead").WithHint("bundlectl detach %s", path)
	}
	return a.grow(b, size)
}

func growImage(b *bundle.Bundle, size int64) error {
	if err := b.SetSize(size); err != nil {
		return err
	}
	return resizeImage.Reach()
}

// grow grows an attached bundle. The kernel is asked first whether it would.
func (a *attachment) grow(b *bundle.Bundle, size int64) error {
	if !mayGrow() {
		return cannot("growing a mounted filesystem needs CAP_SYS_RESOURCE", "detach it, then resize it again")
	}
	if err := growImage(b, size); err != nil {
		return err
	}
	if err := a.growDevice(size); err != nil {
		return err
	}
	if err := resizeDevice.Reach(); err != nil {
		return err
	}
	return growFS(a.mounts[0], size/blockSize(b))
}

// mayGrow tells whether the kernel would let this process grow a mounted ext4:
// root is not enough.
func mayGrow() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&hdr, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}

// growDetached grows a detached bundle: on its loop device, not mounted, which
// needs no more rights than an attach. E2fsck replays the journal after a crash.
func growDetached(ctx context.Context, b *bundle.Bundle, size int64) error {
	if err := growImage(b, size); err != nil {
		return err
	}
	b, err := bundle.Open(b.Path)
	if err != nil {
		return err
	}
	s, err := newSession(b)
	if err != nil {
		return err
	}
	defer s.close(false)
	if err := runE2fs(ctx, 1, "e2fsck", "-p", s.loop.path); err != nil { // 1: it had something to do
		return err
	}
	if err := resizeChecked.Reach(); err != nil {
		return err
	}
	return runE2fs(ctx, 0, "resize2fs", "-f", s.loop.path)
}

// runE2fs runs a program of e2fsprogs, which may end with a status up to most.
func runE2fs(ctx context.Context, most int, name string, args ...string) error {
	prog, err := findProgram(name)
	if err != nil {
		return cannot(name+" is not installed", "apt-get install e2fsprogs")
	}
	words, err := exec.CommandContext(ctx, prog, args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() && exit.ExitCode() <= most {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", name, strings.Join(strings.Fields(string(words)), " "), err)
	}
	return nil
}

// growDevice makes server and loop device take the new size.
func (a *attachment) growDevice(size int64) error {
	if _, err := ask(a.id, serve.Request{Op: "resize", Size: size}); err != nil {
		return err
	}
	dev, err := os.OpenFile(a.device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer dev.Close()
	if err := unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_SET_CAPACITY, 0); err != nil {
		return fmt.Errorf("%s: %w", a.device, err)
	}
	var got uint64
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, dev.Fd(), unix.BLKGETSIZE64, uintptr(unsafe.Pointer(&got))); errno != 0 {
		return fmt.Errorf("%s: %w", a.device, errno)
	}
	if int64(got) < size { // loop devices before Linux 6.16 do not ask FUSE for the size
		return status.Errorf(status.Mount, "this kernel cannot grow an attached image").WithHint("detach it, then resize it again")
	}
	return nil
}

func growFS(mount string, blocks int64) error {
	dir, err := os.Open(mount)
	if err != nil {
		return err
	}
	defer dir.Close()
	n := uint64(blocks)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), resizeFS, uintptr(unsafe.Pointer(&n))); errno != 0 {
		return fmt.Errorf("grow the filesystem at %s: %w", mount, errno)
	}
	return syncMount(mount)
}
