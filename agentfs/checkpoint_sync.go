package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

func (a *app) syncVerb() *command.Verb {
	var auto bool
	return &command.Verb{
		Name:  "sync",
		Short: "make checkpoints durable, so that a power cut does not take them",
		Long: `
A checkpoint is safe from the death of any process when 'checkpoint create' returns. A
moment later it is from a power cut, too: this is done in the background after each
one. This command waits until it is done for all. Runs

  cpdb checkpoint list --volatile | bandclone sync | cpdb checkpoint set --durable`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&auto, "auto", false, "in the background: leave it to another process that is at it")
		},
		Run: func(ctx context.Context, _ command.IO, _ []string) error {
			name, err := a.selected(ctx)
			if err != nil {
				return err
			}
			if auto {
				return a.syncInBackground(ctx, name)
			}
			done, err := a.makeDurable(ctx, name)
			if err != nil {
				return err
			}
			return a.result(syncedNow(name, done), fmt.Sprintf("Durable now: %s", counted(len(done))))
		},
	}
}

var (
	syncListed = fault.Define("agentfs.sync.listed")
	syncBands  = fault.Define("agentfs.sync.bands")
	syncNoted  = fault.Define("agentfs.sync.noted")
)

// syncLock is a file in a store's directory that is locked while checkpoints are made
// durable in the background. It is not the store's lock: the next checkpoint need not
// wait for the disk.
const syncLock = ".sync"

// syncedNow is what sync --json shows: what it has made durable.
func syncedNow(store string, done []record.Checkpoint) []description {
	list := []description{}
	for _, cp := range done {
		list = append(list, described(store, cp))
	}
	return list
}

// makeDurable makes all checkpoints of a store durable that were made in this boot of
// the machine, and gives those that were not. Several at once do no harm.
func (a *app) makeDurable(ctx context.Context, store string) ([]record.Checkpoint, error) {
	recs, err := a.run.List(ctx, nil,
		pipeline.Tool("cpdb", "checkpoint", "list", "--volatile", "--store", store).Then(syncListed.Reach),
		pipeline.Tool("bandclone", "sync").Then(syncBands.Reach),
		pipeline.Tool("cpdb", "checkpoint", "set", "--durable").Then(syncNoted.Reach))
	return collect[record.Checkpoint](recs, "checkpoint", err)
}

// waitDurable makes a checkpoint durable, and gives it as it is then.
func (a *app) waitDurable(ctx context.Context, store string, cp record.Checkpoint) (record.Checkpoint, error) {
	if _, err := a.makeDurable(ctx, store); err != nil {
		a.warn("%s is made, but not durable yet", titled(cp))
		return cp, err
	}
	_, _, now, err := a.checkpoint(ctx, store, version(cp.Version))
	return now, err
}

// syncAfter starts to make a new checkpoint durable, in the background. Where another
// process is at it, that one does it: it looks again when it has let go of the lock.
func (a *app) syncAfter(store string) {
	lock, err := a.openLock(context.Background(), store, syncLock)
	if err != nil {
		return
	}
	defer lock.Close()
	free := *a.run
	free.Lock, free.Also = lock, nil
	free.Detach(pipeline.Tool("agentfs", "checkpoint", "sync", "--auto", "--store", store))
}

// syncInBackground makes checkpoints durable until there is none left. The lock is that
// of whoever has started it, inherited, or its own.
func (a *app) syncInBackground(ctx context.Context, store string) error {
	lock := a.inherited(filepath.Join(a.lockDir(store), syncLock))
	for last := int64(0); ; {
		if lock == nil {
			var err error
			if lock, err = a.openLock(ctx, store, syncLock); errors.Is(err, syscall.EWOULDBLOCK) {
				return nil
			} else if err != nil {
				return err
			}
		}
		a.run.Lock = lock
		if _, err := a.makeDurable(ctx, store); err != nil {
			return err
		}
		a.run.Lock = nil
		_ = lock.Close()
		lock = nil
		newest, err := a.newestVolatile(ctx, store)
		if err != nil || newest <= last { // what could not be done will not be now
			return err
		}
		last = newest
	}
}

// newestVolatile gives the newest version that is not durable, 0 for none.
func (a *app) newestVolatile(ctx context.Context, store string) (newest int64, err error) {
	recs, err := a.run.List(ctx, nil, pipeline.Tool("cpdb", "checkpoint", "list", "--volatile", "--store", store))
	found, err := collect[record.Checkpoint](recs, "checkpoint", err)
	for _, cp := range found {
		newest = max(newest, cp.Version)
	}
	return newest, err
}

// inherited gives the lock on path that the command which has started this one has
// lent it, nil for none.
func (a *app) inherited(path string) *os.File {
	var mine, there syscall.Stat_t
	if os.Getenv(pipeline.LockEnv) == "" ||
		syscall.Fstat(pipeline.LockFD, &mine) != nil || syscall.Stat(path, &there) != nil ||
		mine.Dev != there.Dev || mine.Ino != there.Ino {
		return nil
	}
	syscall.CloseOnExec(pipeline.LockFD) // stages get it as before
	return os.NewFile(pipeline.LockFD, path)
}
