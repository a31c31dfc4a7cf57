//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/serve"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/status"
)

var (
	quiesceSynced = fault.Define("bundlectl.quiesce.synced")
	quiesceClosed = fault.Define("bundlectl.quiesce.gate-closed")
)

// Quiesce runs run while the server's gate is closed, after a syncfs of the
// mounted filesystem: the bands then hold what a power cut would leave, with all
// that was written before the call in it. The gate opens when run ends, when this
// process does, and by itself after a time; in the last case run's result is
// worthless and Quiesce fails.
func (Engine) Quiesce(_ context.Context, path string, run func() error) error {
	a, err := find(path)
	if errors.Is(err, errNotAttached) {
		return status.Errorf(status.Mount, "quiesce %q: not attached", path).WithHint("bundlectl attach %s", path)
	}
	if err != nil {
		return wrap("quiesce", path, err)
	}
	if a.pid == 0 || len(a.mounts) == 0 {
		return status.Errorf(status.Mount, "quiesce %q: its band server is dead", path).WithHint("bundlectl detach %s, and attach it again", path)
	}
	if err := syncMount(a.mounts[0]); err != nil {
		return wrap("quiesce", path, err)
	}
	quiesceSynced.Reach()
	c, err := dial(a.id)
	if err != nil {
		return wrap("quiesce", path, err)
	}
	defer c.close()
	if _, err := c.ask(serve.Request{Op: "close-gate"}); err != nil {
		return wrap("quiesce", path, err)
	}
	quiesceClosed.Reach()
	if err := run(); err != nil {
		return err
	}
	if _, err := c.ask(serve.Request{Op: "open-gate"}); err != nil {
		return wrap("quiesce", path, err)
	}
	return nil
}

func syncMount(mount string) error {
	fd, err := unix.Open(mount, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", mount, err)
	}
	defer unix.Close(fd)
	switch err := unix.Syncfs(fd); {
	case errors.Is(err, unix.EROFS):
		return status.Errorf(status.General, "sync %s: the filesystem has failed and takes no more writes", mount).
			WithHint("make room if the disk is full, then close the store and open it again: what was synced is there")
	case err != nil:
		return status.Errorf(status.General, "sync %s: %w", mount, err).
			WithHint("make room if the disk is full; the band server's log is in %s", runDir)
	}
	return nil
}
