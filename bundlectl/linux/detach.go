//go:build linux

package linux

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var detachUnmounted = fault.Define("bundlectl.detach.unmounted")

// endTime bounds the wait for the server after the last unmount: it has the rest
// of the dirty bands to sync.
const endTime = 60 * time.Second

// Detach unmounts the bundle and waits until its server has let go.
func (Engine) Detach(_ context.Context, path string) (*record.Image, error) {
	return detach(path, (*attachment).unmount)
}

func detach(path string, how func(*attachment) error) (*record.Image, error) {
	if err := os.Chdir("/"); err != nil { // or this process would hold the mount
		return nil, err
	}
	a, err := find(path)
	if errors.Is(err, errNotAttached) {
		return nil, status.Errorf(status.Mount, "detach %q: not attached", path).WithHint("bundlectl list")
	}
	if err == nil {
		err = how(a)
	}
	if err != nil {
		return nil, wrap("detach", path, err)
	}
	return look(path)
}

func (a *attachment) unmount() error {
	var c *client
	if a.pid != 0 {
		var err error
		if c, err = dial(a.id); err != nil {
			return err
		}
		defer c.close()
	}
	for _, m := range a.mounts {
		if err := a.unmountOne(m); err != nil {
			return err
		}
	}
	if err := detachUnmounted.Reach(); err != nil {
		return a.stillUsed(err)
	}
	if c == nil {
		return a.sweep()
	}
	return a.awaitEnd(c)
}

// awaitEnd waits until the server has ended.
func (a *attachment) awaitEnd(c *client) error {
	if err := c.waitEnd(a.id, endTime); err != nil {
		return a.stillUsed(err)
	}
	return nil
}

// sweep removes what a dead server could not: its socket, and its log if nothing
// was said.
func (a *attachment) sweep() error {
	err := os.Remove(socketPath(a.id))
	if st, e := os.Stat(logPath(a.id)); e == nil && st.Size() == 0 {
		err = errors.Join(err, os.Remove(logPath(a.id)))
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (a *attachment) unmountOne(mount string) error {
	flags := unix.UMOUNT_NOFOLLOW
	if a.pid == 0 { // nothing can be written any more: let go at once
		flags |= unix.MNT_DETACH
	}
	err := unix.Unmount(mount, flags)
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	return busy(mount)
}

// busy names who holds the mount.
func busy(mount string) error {
	e := status.Errorf(status.Mount, "%s is busy", mount)
	if who := holders(mount); len(who) > 0 {
		e = status.Errorf(status.Mount, "%s is busy: %s", mount, strings.Join(who, ", "))
	}
	return e.WithHint("leave the directory (cd /) and end what has files open there")
}

// stillUsed explains that the end of the server was not seen after the unmount. One
// that goes on serves a filesystem that is mounted in another namespace too, of a
// container say.
func (a *attachment) stillUsed(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return status.Errorf(status.Mount, "unmounted here, but the end of its band server was not seen: %w", err)
	}
	who := namespacesWith(a.device)
	if len(who) == 0 {
		return status.Errorf(status.Mount, "unmounted here, but the band server (pid %d) goes on: %w", a.pid, err)
	}
	return status.Errorf(status.Mount, "unmounted here, but still mounted in the namespace of %s", strings.Join(who, ", "))
}
