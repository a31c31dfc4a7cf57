//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/status"
)

// asideName is the served file's name where it is a checkpoint's image. It stands
// for no bundle: find must not take its loop device for one's.
const asideName = "agentfs.checkpoint"

var asideMounted = fault.Define("bundlectl.attach.aside")

// Aside mounts each checkpoint's filesystem read-only, in no namespace: its tree is
// reached by the mount's descriptor alone, and goes when the last process that has
// it ends, however it ends.
func (e Engine) Aside(ctx context.Context, path string, checkpoints []string, run func(trees []engine.Tree) error) error {
	if err := e.Check(ctx); err != nil {
		return err
	}
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	trees := make([]engine.Tree, 0, len(checkpoints))
	for _, dir := range checkpoints {
		tree, err := mountAside(b, dir)
		if err != nil {
			return wrap("attach", dir, err)
		}
		trees = append(trees, engine.Tree{Path: fmt.Sprintf("/proc/self/fd/%d", tree.Fd()), Root: tree})
	}
	asideMounted.Reach()
	end, err := keep(trees)
	if err != nil {
		return wrap("attach", path, err)
	}
	defer end.Close()
	return run(append(trees, engine.Tree{Root: end}))
}

// mountAside gives the root of a checkpoint's tree.
func mountAside(b *bundle.Bundle, dir string) (*os.File, error) {
	if st, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !st.IsDir() {
		return nil, unix.ENOTDIR
	}
	s, err := newAside(b, dir)
	if err != nil {
		return nil, err
	}
	fd, err := mountReadOnly(s.loop.path)
	s.close(err == nil)
	if err != nil {
		return nil, status.Errorf(status.Mount, "mount of %s: %w", dir, err)
	}
	return os.NewFile(uintptr(fd), dir), nil
}

// mountReadOnly makes a mount of the device's ext4 that is in no namespace. A
// journal is replayed: the device takes writes.
func mountReadOnly(device string) (int, error) {
	fs, err := unix.Fsopen("ext4", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(fs)
	err = errors.Join(unix.FsconfigSetString(fs, "source", device), unix.FsconfigSetFlag(fs, "ro"))
	if err == nil {
		err = unix.FsconfigCreate(fs)
	}
	if err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC,
		unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOATIME|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// keep starts a process that has the trees too, until nobody has the descriptor any
// more that keep gives. Their last user does not wait then for the kernel, which
// takes a millisecond for each few hundred files that it has seen.
func keep(trees []engine.Tree) (*os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command(self, "keep")
	cmd.Dir, cmd.Stdin = "/", r
	for _, t := range trees {
		cmd.ExtraFiles = append(cmd.ExtraFiles, t.Root)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	return w, cmd.Process.Release()
}
