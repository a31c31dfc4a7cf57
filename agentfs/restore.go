package main

import (
	"context"
	"fmt"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

func (a *app) restoreVerb() *command.Verb {
	return &command.Verb{
		Name: "restore", Args: "VERSION", Min: 1, Max: 1,
		Short: "restore to a checkpoint",
		Long: `
Asks first; -f does not. Saves the present as a checkpoint "pre-restore", unmounts,
swaps the checkpoint's bands in, mounts. A mount that processes still use is
refused, with their names (status 5). If any step fails, the store is left as it
was, mounted.`,
		Run: a.restore,
	}
}

var (
	restoreLocked    = fault.Define("agentfs.restore.locked")
	restoreSaved     = fault.Define("agentfs.restore.saved")
	restoreMarked    = fault.Define("agentfs.restore.marked")
	restoreDetached  = fault.Define("agentfs.restore.detached")
	restoreSwapped   = fault.Define("agentfs.restore.swapped")
	restoreAttached  = fault.Define("agentfs.restore.attached")
	restoreFinished  = fault.Define("agentfs.restore.finished")
	restoreDone      = fault.Define("agentfs.restore.done")
	restoreRescuing  = fault.Define("agentfs.restore.rescuing")
	restoreWithdrawn = fault.Define("agentfs.restore.withdrawn")
)

// restoring is a restore while it runs.
type restoring struct {
	*app
	rec      *record.Record    // store and checkpoint
	store    record.Store      //
	to       record.Checkpoint // what is to come back
	mounted  bool              // the store was mounted at the start
	saved    record.Checkpoint // the present, as it was
	detached bool              // the old state has been unmounted
	attached bool              // the new state has been mounted
	finished bool              // the old state is no longer kept
}

// restored is what restore --json shows.
type restored struct {
	Store      string  `json:"store"`
	Version    string  `json:"version"`
	Message    string  `json:"message"`
	SavedAs    string  `json:"saved_as"`
	MountPath  string  `json:"mount_path"`
	DurationMS float64 `json:"duration_ms"`
}

func (a *app) restore(ctx context.Context, _ command.IO, args []string) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	if err := a.askRestore(ctx, name, args[0]); err != nil {
		return err
	}
	began := time.Now()
	if err := a.hold(ctx, name); err != nil {
		return err
	}
	restoreLocked.Reach()
	r := &restoring{app: a}
	if err := r.look(ctx, name, args[0]); err != nil {
		return err
	}
	leftovers, err := r.save(ctx)
	if err != nil {
		return err
	}
	if err := r.exchange(ctx); err != nil {
		return err
	}
	restoreDone.Reach()
	ms := millis(began)
	err = a.result(
		restored{name, version(r.to.Version), r.to.Message, version(r.saved.Version), r.store.MountPath, ms},
		fmt.Sprintf("Restored to %s (%.0fms)", titled(r.to), ms))
	a.sweepAfter(ctx, leftovers)
	a.followUp(leftovers, r.to)
	return err
}

// askRestore asks before the lock is taken: people think for longer than others
// should wait.
func (a *app) askRestore(ctx context.Context, name, v string) error {
	if a.force {
		return nil
	}
	_, st, cp, err := a.checkpoint(ctx, name, v)
	if err != nil {
		return err
	}
	return a.confirm(ctx, "Restore to %s? Current state will be saved as %s.", version(cp.Version), version(st.NextVersion))
}

// look finds out how things are, now that the lock keeps them so.
func (r *restoring) look(ctx context.Context, name, v string) error {
	find := func() (err error) { r.rec, r.store, r.to, err = r.checkpoint(ctx, name, v); return err }
	var images map[string]record.Image
	err := both(find, func() (err error) { images, err = r.app.attached(ctx); return err })
	if err != nil {
		return err
	}
	r.mounted = images[r.store.BundlePath].MountPath != ""
	if r.store.Status == record.StoreReady {
		return nil
	}
	if err := r.repair(ctx, r.rec, r.store); err != nil {
		return err
	}
	r.mounted = true // repaired stores are
	return find()
}

// save saves the present.
func (r *restoring) save(ctx context.Context) (rec *record.Record, err error) {
	r.stage("Creating checkpoint %s \"pre-restore\"...", version(r.store.NextVersion))
	// It may use the reserve: a restore is how a full disk gets room again.
	rec, r.saved, err = r.app.save(ctx, saving{store: r.store.Name, message: preRestore, mounted: r.mounted, reserve: true})
	if err != nil {
		return nil, r.notMounted(ctx, r.store, err)
	}
	restoreSaved.Reach()
	return rec, nil
}

// exchange leaves the store restored or, with an error, as it was. Once begun it
// is not interrupted: to go on takes no longer than to go back.
func (r *restoring) exchange(ctx context.Context) error {
	steady := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		r.withdraw(steady)
		return pipeline.ErrInterrupted
	}
	err := r.swap(steady)
	if err != nil {
		err = r.rescue(steady, err)
	}
	return err
}

// swap is the restore proper. All its stages are started at once: each does its
// work when the record reaches it, and the time of their start is not lost.
func (r *restoring) swap(ctx context.Context) error {
	mark := pipeline.Tool("cpdb", "store", "set", "--status", record.StoreRestoring).Then(restoreMarked.Reach)
	detach := pipeline.Tool("bundlectl", "detach").Then(func() {
		r.detached = true
		restoreDetached.Reach()
		r.stage("Restoring from %s...", version(r.to.Version))
	})
	swap := pipeline.Tool("bandclone", "restore").Then(func() {
		restoreSwapped.Reach()
		r.stage("Mounting...")
	})
	attach := pipeline.Tool("bundlectl", "attach").Then(func() {
		r.attached = true
		restoreAttached.Reach()
	})
	end := pipeline.Tool("bandclone", "restore", finish).Then(func() {
		r.finished = true
		restoreFinished.Reach()
	})
	if !r.mounted {
		r.stage("Restoring from %s...", version(r.to.Version))
		return r.run.Exec(ctx, r.rec, mark, swap, attach, end, setReady(true))
	}
	r.stage("Unmounting...")
	return r.run.Exec(ctx, r.rec, mark, detach, swap, attach, end, setReady(true))
}
