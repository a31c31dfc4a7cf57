package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// patience is how long a command waits for others before it gives up. They hold
// a lock for milliseconds: who exceeds this hangs or has been stopped.
var patience = 30 * time.Second

// errBusy is what waiting in vain ends with.
var errBusy = errors.New("another process has kept it locked")

// retry runs fn until it does not fail for a lock that another process holds.
func retry(ctx context.Context, fn func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := fn()
		if err == nil || !isBusy(err) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w for %v", errBusy, patience)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func isBusy(err error) bool {
	return errors.Is(err, syscall.EWOULDBLOCK) || isBusyCode(err)
}

// lockDir takes the exclusive lock on a directory.
func lockDir(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = retry(ctx, func() error {
		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // which lets go of the lock
}
