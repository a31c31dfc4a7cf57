package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/durable"
	"agentfs.internal/tool/status"
)

// patience is how long to wait for another command in silence.
const patience = time.Second

// indulgence is how long to wait for a second lock.
const indulgence = 5 * time.Second

// lockDir is the directory whose lock is the store's: every command that changes
// a store holds it, and so does each of its stages, so that it ends with the
// last of them. It is the same for every store, wherever its bundle lies.
func (a *app) lockDir(name string) string {
	return filepath.Join(a.home, "stores", name)
}

// hold takes the lock of a store that there is. A command works on one store, so
// that a lock that it holds is this one.
func (a *app) hold(ctx context.Context, name string) error {
	if a.run.Lock != nil {
		return nil
	}
	err := a.lock(ctx, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// No directory is no store, unless its bundle lies elsewhere: ask.
	if _, _, err := a.get(ctx, name); err != nil {
		return err
	}
	return a.claim(ctx, name)
}

// claim takes the lock of a store that there may not be yet.
func (a *app) claim(ctx context.Context, name string) error {
	for {
		if err := durable.MkdirAll(a.lockDir(name), 0o700); err != nil {
			return err
		}
		// Its last holder may remove the directory before the lock is ours.
		if err := a.lock(ctx, name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// claimSecond takes the lock of a name while that of another store is held, which
// stays held. It waits only for a while: of two commands that want each other's
// store none waits for ever.
func (a *app) claimSecond(ctx context.Context, name string) error {
	a.run.Also, a.run.Lock = a.run.Lock, nil
	short, stop := context.WithTimeout(ctx, indulgence)
	defer stop()
	err := a.claim(short, name)
	if err == nil || ctx.Err() != nil || short.Err() == nil {
		return err
	}
	return status.Errorf(status.General, "another command is at work on store %s", quoted(name)).WithHint("try again when it has ended")
}

// lock takes the lock on the store's directory and hands it to the runner, for
// all stages from now on. It is let go by the end of the last process.
func (a *app) lock(ctx context.Context, name string) error {
	for {
		dir, err := os.Open(a.lockDir(name))
		if err != nil {
			return err
		}
		if err := a.flock(ctx, dir, name); err != nil {
			// Not closed: who has given up waiting is still in the call, to the end of
			// this process, which is near.
			return err
		}
		if stillThere(dir) {
			a.run.Lock = dir
			return nil
		}
		_ = dir.Close()
	}
}

// flock waits for the lock, and after a second says what it waits for.
func (a *app) flock(ctx context.Context, dir *os.File, name string) error {
	fd, got := int(dir.Fd()), make(chan error, 1)
	if err := flock(fd, syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return err
	}
	go func() {
		got <- flock(fd, 0)
		runtime.KeepAlive(dir)
	}()
	talk := time.NewTimer(patience)
	defer talk.Stop()
	for {
		select {
		case err := <-got:
			return err
		case <-talk.C:
			if !a.patient {
				a.warn("waiting for another command on store %s to end", quoted(name))
			}
		case <-ctx.Done():
			return pipeline.ErrInterrupted
		}
	}
}

func flock(fd, how int) error {
	for {
		err := syscall.Flock(fd, syscall.LOCK_EX|how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// stillThere tells whether the directory that was locked is the one that is
// found under its name: delete removes it while others wait for it.
func stillThere(dir *os.File) bool {
	mine, err := dir.Stat()
	if err != nil {
		return false
	}
	found, err := os.Stat(dir.Name())
	return err == nil && os.SameFile(mine, found)
}
