//go:build linux

package linux

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

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
func (e Engine) Aside(ctx context.Context, path string, p engine.AsideParams, run func(v *engine.View) error) error {
	if err := e.Check(ctx); err != nil {
		return err
	}
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	v := &engine.View{}
	var devices []string
	for _, dir := range p.Checkpoints {
		root, device, err := mountAside(b, dir)
		if err != nil {
			return wrap("attach", dir, err)
		}
		v.Trees = append(v.Trees, engine.Tree{Root: root})
		devices = append(devices, device)
	}
	if err := asideMounted.Reach(); err != nil {
		return wrap("attach", path, err)
	}
	if p.Changed {
		if v.Changed, err = changed(path, devices, p.Parted); err != nil {
			return wrap("attach", path, err)
		}
	}
	if v.Keep, err = keep(roots(v.Trees)...); err != nil {
		return wrap("attach", path, err)
	}
	defer v.Keep.Close()
	return run(v)
}

// changed gives the numbers of the inodes that differ between the filesystems on the
// first two devices, or between the only one and the mounted bundle's.
func changed(path string, devices []string, parted time.Time) (*os.File, error) {
	if len(devices) == 1 {
		a, err := find(path)
		if err != nil && !errors.Is(err, errNotAttached) {
			return nil, err
		}
		if err == nil && a.pid != 0 {
			devices = append(devices, a.device)
		}
	}
	fd, err := unix.MemfdCreate("agentfs-changed", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	list := os.NewFile(uintptr(fd), "changed")
	err = errLayout
	if len(devices) >= 2 {
		err = changedInodes(list, devices[0], devices[1], parted)
	}
	if err != nil { // then whoever reads it has to look at all
		if err = list.Truncate(0); err == nil {
			_, err = list.WriteAt([]byte(engine.AllChanged), 0)
		}
	}
	return list, err
}

// mountAside gives the root of a checkpoint's tree, and the device that it is on.
func mountAside(b *bundle.Bundle, dir string) (*os.File, string, error) {
	if st, err := os.Stat(dir); err != nil {
		return nil, "", err
	} else if !st.IsDir() {
		return nil, "", unix.ENOTDIR
	}
	s, err := newAside(b, dir)
	if err != nil {
		return nil, "", err
	}
	fd, err := mountApart(s.loop.path, "ro")
	s.close(err == nil)
	if err != nil {
		return nil, "", status.Errorf(status.Mount, "mount of %s: %w", dir, err)
	}
	return os.NewFile(uintptr(fd), dir), s.loop.path, nil
}

// mountApart makes a mount of the device's ext4 that is in no namespace, with a flag
// such as ro. A journal is replayed with that, too: the device takes writes.
func mountApart(device, flag string) (int, error) {
	fs, err := unix.Fsopen("ext4", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(fs)
	err = errors.Join(unix.FsconfigSetString(fs, "source", device), unix.FsconfigSetFlag(fs, flag))
	if err == nil {
		err = unix.FsconfigCreate(fs)
	}
	if err != nil {
		return -1, err
	}
	attr := unix.MOUNT_ATTR_NOATIME | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	if flag == "ro" {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
}

func roots(trees []engine.Tree) []*os.File {
	var list []*os.File
	for _, t := range trees {
		list = append(list, t.Root)
	}
	return list
}

// keep starts a process that has the trees too, until nobody has the descriptor any
// more that keep gives. Their last user does not wait then for the kernel, which
// takes a millisecond for each few hundred files that it has seen.
func keep(trees ...*os.File) (*os.File, error) {
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
	cmd.Dir, cmd.Stdin, cmd.ExtraFiles = "/", r, trees
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	return w, cmd.Process.Release()
}
