//go:build linux

package linux

import (
	"context"
	"errors"
	"os"

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
	a, err := synced("quiesce", path)
	if err != nil {
		return err
	}
	if err := quiesceSynced.Reach(); err != nil {
		return wrap("quiesce", path, err)
	}
	c, err := closeGate(a.id)
	if err != nil {
		return wrap("quiesce", path, err)
	}
	defer c.close()
	if err := quiesceClosed.Reach(); err != nil {
		return wrap("quiesce", path, err)
	}
	if err := run(); err != nil {
		return err
	}
	_, err = c.ask(serve.Request{Op: "open-gate"})
	if broken(err) { // whoever took its place lets writes through
		err = status.Errorf(status.General, "the band server has died meanwhile").WithHint("try it again")
	}
	if err != nil {
		return wrap("quiesce", path, err)
	}
	return nil
}

// closeGate gives the connection that holds the gate closed. A server that dies at it
// may be replaced: that one has the gate open, and is asked again.
func closeGate(id string) (c *client, err error) {
	for range 3 {
		if c, err = dial(id); err != nil {
			return nil, err
		}
		if _, err = c.ask(serve.Request{Op: "close-gate"}); err == nil {
			return c, nil
		}
		c.close()
		if !broken(err) {
			break
		}
	}
	return nil, err
}

// synced gives the attachment of a bundle whose bands hold all that was written to
// the mount before the call.
func synced(what, path string) (*attachment, error) {
	a, err := find(path)
	if errors.Is(err, errNotAttached) {
		return nil, status.Errorf(status.Mount, "%s %q: not attached", what, path).WithHint("bundlectl attach %s", path)
	}
	if err == nil && (a.pid == 0 || len(a.mounts) == 0) {
		return nil, status.Errorf(status.Mount, "%s %q: its band server is dead", what, path).WithHint("bundlectl detach %s, and attach it again", path)
	}
	if err == nil {
		err = syncMount(a.mounts[0])
	}
	if err != nil {
		return nil, wrap(what, path, err)
	}
	return a, nil
}

func syncMount(mount string) error {
	dir, err := os.Open(mount)
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncTree(dir)
}

// syncTree makes the bands hold all that was written to the filesystem that dir is on.
func syncTree(dir *os.File) error {
	switch err := unix.Syncfs(int(dir.Fd())); {
	case errors.Is(err, unix.EROFS):
		return status.Errorf(status.General, "sync %s: the filesystem has failed and takes no more writes", dir.Name()).
			WithHint("make room if the disk is full, then close the store and open it again: what was synced is there")
	case err != nil:
		return status.Errorf(status.General, "sync %s: %w", dir.Name(), err).
			WithHint("make room if the disk is full; the band server's log is in %s", runDir)
	}
	emptyJournal(int(dir.Fd()))
	return nil
}

// checkpointJournal is EXT4_IOC_CHECKPOINT: _IOW('f', 43, __u32), of Linux 5.14.
const checkpointJournal = 0x4004662b

// emptyJournal makes the journal of a filesystem that was just synced empty: all in
// it is at its place already. Whoever mounts the image of this moment has nothing to
// replay, and the filesystem has nothing left to write while nobody works in it. One
// attempt: where somebody goes on writing the journal is short then, not empty. A
// kernel that cannot do it leaves the journal as it is, which is as right.
func emptyJournal(fd int) { _ = unix.IoctlSetPointerInt(fd, checkpointJournal, 0) }
