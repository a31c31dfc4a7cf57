package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/durable"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

func (a *app) indexVerb() *command.Verb {
	var calm bool
	return &command.Verb{
		Name:  "index",
		Short: "list the changes of checkpoints that have not been looked at",
		Long: `
Compares each checkpoint with the one that it came from, for timeline, search, log and
blame. It is done in the background after each checkpoint, at low priority, unless
checkpoints.auto_index of config.toml is false; else by the first command that asks.
In the background each comparison waits until no checkpoint has been made for a second.
One that is killed is gone on with later.`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&calm, "calm", false, "before each comparison, wait until no checkpoint has been made for a second")
		},
		Run: func(ctx context.Context, _ command.IO, _ []string) error {
			name, err := a.selected(ctx)
			if err == nil && calm {
				return a.catchUpCalmly(ctx, name)
			}
			if err == nil {
				err = a.catchUp(ctx, name)
			}
			return err
		},
	}
}

var (
	indexLocked   = fault.Define("agentfs.index.locked")
	indexCompared = fault.Define("agentfs.index.compared")
	indexAdded    = fault.Define("agentfs.index.added")
)

// pair is a checkpoint whose changes are not known, with the one that it came from,
// which is absent where nothing came before.
type pair struct {
	store  record.Store
	parent *record.Checkpoint
	of     record.Checkpoint
}

// catchUp lists the changes of all checkpoints of a store that have not been looked
// at. One process does it at a time; another one waits for it and finds it done.
func (a *app) catchUp(ctx context.Context, name string) error {
	todo, err := a.todo(ctx, name)
	if err != nil || len(todo) == 0 {
		return err
	}
	defer a.talk("")
	return a.indexing(ctx, name, func(todo []pair) error {
		for i, p := range todo {
			a.talk(fmt.Sprintf("Looking through checkpoint %d of %d...", i+1, len(todo)))
			if err := a.indexOne(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// catchUpCalmly is catchUp for the background: one at a time, when it is calm. A
// comparison has the lowest priority, but the disk and the kernel's threads know none,
// and a checkpoint beside it takes twice as long. While one process waits for calm, a
// second one is not needed, and who cannot wait is not kept waiting.
func (a *app) catchUpCalmly(ctx context.Context, name string) error {
	unlock, err := a.lockFile(ctx, name, calmLock)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	for {
		todo, err := a.todo(ctx, name)
		if err != nil || len(todo) == 0 {
			return err
		}
		if err := calm(ctx, filepath.Dir(todo[0].of.Dir)); err != nil {
			return err
		}
		err = a.indexing(ctx, name, func(todo []pair) error { return a.indexOne(ctx, todo[0]) })
		if err != nil {
			return err
		}
	}
}

// indexing does what is to be done, if anything still is, while nobody else does.
func (a *app) indexing(ctx context.Context, name string, do func(todo []pair) error) error {
	unlock, err := a.lockIndex(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if err := indexLocked.Reach(); err != nil {
		return err
	}
	todo, err := a.todo(ctx, name)
	if err != nil || len(todo) == 0 {
		return err
	}
	return do(todo)
}

// calmness is for how long nothing must have been saved.
const calmness = time.Second

// calm waits until a directory of checkpoints has not been changed for a while.
func calm(ctx context.Context, checkpoints string) error {
	for {
		st, err := os.Stat(checkpoints)
		if err != nil {
			return err
		}
		quiet := time.Since(st.ModTime())
		if quiet < 0 || quiet >= calmness { // a clock may be set back
			return nil
		}
		select {
		case <-ctx.Done():
			return pipeline.ErrInterrupted
		case <-time.After(calmness - quiet):
		}
	}
}

// talk shows progress on a terminal, in one line that is written over.
func (a *app) talk(s string) {
	if isTerminal(a.io.Err) {
		fmt.Fprintf(a.io.Err, "\r\x1b[K%s", s)
	}
}

func (a *app) todo(ctx context.Context, name string) ([]pair, error) {
	recs, err := a.run.List(ctx, nil, pipeline.Tool("cpdb", "change", "todo", "--store", name))
	var list []pair
	for _, rec := range recs {
		var p pair
		err = errors.Join(err, rec.Get("store", &p.store), rec.Get("checkpoint", &p.of))
		if rec.Has("parent") {
			err = errors.Join(err, rec.Get("parent", &p.parent))
		}
		list = append(list, p)
	}
	return list, err
}

// Files in a store's directory that are locked while changes are listed, and while
// somebody waits for calm to list them. Neither is the store's lock, which others need
// meanwhile.
const (
	indexLock = ".index"
	calmLock  = ".calm"
)

// lockIndex waits until nobody else is at it.
func (a *app) lockIndex(ctx context.Context, name string) (unlock func(), err error) {
	for {
		unlock, err = a.lockFile(ctx, name, indexLock)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, pipeline.ErrInterrupted
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// lockFile takes the lock of a file in the store's directory, if it is free.
func (a *app) lockFile(ctx context.Context, name, file string) (unlock func(), err error) {
	f, err := a.openLock(ctx, name, file)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil // which lets go of the lock
}

// openLock opens a file in the store's directory and takes its lock, if it is free.
func (a *app) openLock(ctx context.Context, name, file string) (*os.File, error) {
	path := filepath.Join(a.lockDir(name), file)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // no directory is no store, unless its bundle lies elsewhere
		if _, _, err := a.get(ctx, name); err != nil {
			return nil, err
		}
		if err := durable.MkdirAll(a.lockDir(name), 0o700); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if err := flock(int(f.Fd()), syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// indexOne lists the changes of one checkpoint. Those of one that has lost what it
// came from can never be known, which is noted, too.
func (a *app) indexOne(ctx context.Context, p pair) error {
	parent := strconv.FormatInt(p.of.ParentID, 10)
	add := pipeline.Tool("cpdb", "change", "add", "--store", p.store.Name, "--parent-id", parent, "--", version(p.of.Version))
	if !p.comparable() {
		return a.run.Exec(ctx, nil, pipeline.Tool("cpdb", "change", "add", "--lost", "--store", p.store.Name, "--", version(p.of.Version)))
	}
	changes, err := a.compareWithParent(ctx, p)
	if err != nil {
		return a.unlessGone(ctx, p, err)
	}
	if err := indexCompared.Reach(); err != nil {
		return err
	}
	if err := a.run.Feed(ctx, changes, io.Discard, add); err != nil {
		return a.unlessGone(ctx, p, err)
	}
	return indexAdded.Reach()
}

// unlessGone drops the error about a checkpoint that was deleted, or whose parent was,
// while it was looked at.
func (a *app) unlessGone(ctx context.Context, p pair, err error) error {
	todo, lost := a.todo(ctx, p.store.Name)
	same := func(q pair) bool { return q.of.ID == p.of.ID && q.comparable() == p.comparable() }
	if lost == nil && !slices.ContainsFunc(todo, same) {
		return nil
	}
	return err
}

// comparable tells whether there is still what is to be compared.
func (p pair) comparable() bool {
	if p.parent == nil {
		return p.of.ParentID == 0 // else its store is gone
	}
	return p.parent.Status == record.CheckpointReady
}

// compareWithParent gives the changes, and only if the comparison came to its end. It
// must not slow others down: it runs at the lowest priority, unlike what is done with
// the database, for which others may wait.
func (a *app) compareWithParent(ctx context.Context, p pair) ([]*record.Record, error) {
	stage, err := a.comparison(p)
	if err != nil {
		return nil, err
	}
	changes, err := lowly(func() ([]*record.Record, error) { return a.run.List(ctx, nil, stage) })
	if p.parent == nil && err == nil {
		changes = slices.DeleteFunc(changes, ofRoot)
	}
	return changes, err
}

// ofRoot tells of a change of the tree's root. It was there before all checkpoints, so
// that it differs from an empty directory's says nothing.
func ofRoot(rec *record.Record) bool {
	var c record.Change
	return rec.Get("change", &c) == nil && c.Path == "."
}

// emptyTree is an empty directory in a store's directory: what was before the first
// checkpoint. It stays, so that a kill leaves nothing behind.
const emptyTree = ".empty"

// comparison makes the stage that compares a checkpoint with its parent, or with
// nothing.
func (a *app) comparison(p pair) (stage pipeline.Stage, err error) {
	if p.parent != nil {
		s := sides{store: p.store, from: *p.parent, to: p.of}
		return s.compare(false, []string{"--hunks"}, nil), nil
	}
	empty := filepath.Join(a.lockDir(p.store.Name), emptyTree)
	if err := os.Mkdir(empty, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return stage, err
	}
	s := sides{store: p.store, from: p.of} // to the present: one checkpoint is enough
	return s.aside("treediff", "--hunks", empty, treeMark), nil
}

// lowly runs fn on a thread of the lowest priority, which the processes that it
// starts inherit. The thread ends with it, since it could not become as it was.
func lowly[T any](fn func() (T, error)) (value T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19)
		value, err = fn()
	}()
	<-done
	return value, err
}

// indexAfter starts to list the changes of a new checkpoint, in the background and
// without the store's lock.
func (a *app) indexAfter(cfg config, store string) {
	if !cfg.autoIndex {
		return
	}
	free := *a.run
	free.Lock, free.Also = nil, nil
	free.Detach(pipeline.Tool("agentfs", "checkpoint", "index", "--calm", "--store", store))
}
