//go:build linux

package linux

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/serve"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

var (
	handoverReadOnly = fault.Define("bundlectl.handover.read-only")
	handoverDone     = fault.Define("bundlectl.handover.done")
)

// Handover is Detach that does not wait for the kernel to forget the filesystem,
// which takes it a millisecond for each few hundred files that it has seen. The
// mount goes, the filesystem becomes read-only, with its journal empty, and the
// server lets go of the bundle; what is left of the filesystem is a process's that
// nobody waits for.
func (Engine) Handover(_ context.Context, path string) (*record.Image, error) {
	return detach(path, (*attachment).handOver)
}

// handOver does it in steps of which each unwinds by itself where it is the last:
// whoever ends lets go of the filesystem, and then it is unmounted as by Detach.
// Its bands may be swapped only when it can no longer be written and its server
// would not take it.
func (a *attachment) handOver() error {
	if a.pid == 0 || len(a.mounts) != 1 {
		return a.unmount()
	}
	c, err := dial(a.id)
	if err != nil {
		return err
	}
	defer c.close()
	tree, err := openTree(a.mounts[0])
	if err != nil {
		return err
	}
	defer tree.Close()
	rest, err := keep(tree)
	if err != nil {
		return err
	}
	defer rest.Close()
	if err := a.unmountOne(a.mounts[0]); err != nil {
		return err
	}
	if err := detachUnmounted.Reach(); err != nil {
		return a.stillUsed(err)
	}
	if !a.retire(c, tree) { // then wait after all
		tree.Close()
		rest.Close()
		return a.awaitEnd(c)
	}
	if err := handoverDone.Reach(); err != nil {
		return a.stillUsed(err)
	}
	return nil
}

// openTree gives a second mount of the filesystem, which is in no namespace.
func openTree(mount string) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, mount, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return nil, fmt.Errorf("open_tree %s: %w", mount, err)
	}
	return os.NewFile(uintptr(fd), mount), nil
}

// retire makes the filesystem read-only and its server let go of the bundle, and
// tells whether both are so. Where others use it still, by a mount in another
// namespace or a file open for writing, it is not touched.
func (a *attachment) retire(c *client, tree *os.File) bool {
	if len(namespacesWith(a.device)) > 0 || makeReadOnly(int(tree.Fd())) != nil {
		return false
	}
	err := handoverReadOnly.Reach()
	if err == nil {
		_, err = c.ask(serve.Request{Op: "hand-over"})
	}
	return err == nil
}

// makeReadOnly writes all that is not on the disk yet, and empties the journal.
// (By fspick: mount(2) refuses to remount what is in no namespace.)
func makeReadOnly(tree int) error {
	fs, err := unix.Fspick(tree, "", unix.FSPICK_EMPTY_PATH|unix.FSPICK_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("fspick", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigSetFlag(fs, "ro"); err != nil {
		return os.NewSyscallError("fsconfig", err)
	}
	return os.NewSyscallError("fsconfig", unix.FsconfigReconfigure(fs))
}
