package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

var (
	saveBegun   = fault.Define("agentfs.save.begun")
	saveCloned  = fault.Define("agentfs.save.cloned")
	saveFailed  = fault.Define("agentfs.save.failed")
	sweepBands  = fault.Define("agentfs.sweep.bands-gone")
	sweepBefore = fault.Define("agentfs.sweep.begun")
)

// saving is a checkpoint that is to be made.
type saving struct {
	store   string
	message string
	mounted bool // the bands may change, and must stand still meanwhile
	reserve bool // may use the reserve of a disk that is nearly full
	why     record.Causality
	when    func() error // asked before anything is done, when all is ready for it; may be nil
}

// notBegun is why a checkpoint was not even begun, by saving.when.
type notBegun struct{ error }

func (e notBegun) Unwrap() error { return e.error }

// save makes a checkpoint of a store whose lock is held. One that fails leaves
// nothing, or what is swept later. Where it has failed because the store's band server
// has died, and another has taken its place, it is made again, once.
func (a *app) save(ctx context.Context, s saving) (*record.Record, record.Checkpoint, error) {
	began := time.Now()
	rec, cp, err := a.saveOnce(ctx, s)
	if err == nil || !s.mounted || ctx.Err() != nil || errors.As(err, new(notBegun)) || !a.replaced(ctx, s.store, began) {
		return rec, cp, err
	}
	return a.saveOnce(ctx, s)
}

func (a *app) saveOnce(ctx context.Context, s saving) (*record.Record, record.Checkpoint, error) {
	var cp record.Checkpoint
	clone := []string{"bandclone", "create", "--sync=false"} // see makeDurable
	if s.reserve {
		clone = append(clone, "--reserve=false")
	}
	if s.mounted {
		clone = append(a.quiesce(s.store), clone...)
	}
	begin := pipeline.Tool("cpdb", "checkpoint", "begin", "--store", s.store, "--message", s.message)
	begin.Args, begin.When = append(begin.Args, causalityFlags(s.why)...), s.when
	cloned := false
	rec, err := a.run.Run(ctx, nil,
		begin.Then(saveBegun.Reach),
		pipeline.Tool(clone...).Then(func() error { cloned = true; return saveCloned.Reach() }),
		pipeline.Tool("cpdb", "checkpoint", "commit"))
	if err == nil {
		err = rec.Get("checkpoint", &cp)
	}
	if err == nil || errors.As(err, new(notBegun)) {
		return rec, cp, err
	}
	ctx = context.WithoutCancel(ctx)
	if cloned {
		if rec, cp, lost := a.committed(ctx, s.store); lost == nil {
			_ = a.report(err)
			return rec, cp, nil
		}
	}
	if saveFailed.Reach() == nil {
		a.sweepStore(ctx, s.store)
	}
	return nil, cp, err
}

// committed gives the checkpoint of a store that was begun last, if it was committed:
// whoever should have said so may have died or failed behind the commit.
func (a *app) committed(ctx context.Context, store string) (rec *record.Record, cp record.Checkpoint, err error) {
	all, err := a.allRows(ctx, store)
	if err != nil {
		return nil, cp, err
	}
	newer := func(x, y record.Checkpoint) int { return cmp.Compare(x.Version, y.Version) }
	if len(all) == 0 || slices.MaxFunc(all, newer).Status != record.CheckpointReady {
		return nil, cp, errors.New("not committed")
	}
	rec, _, cp, err = a.checkpoint(ctx, store, version(slices.MaxFunc(all, newer).Version))
	return rec, cp, err
}

// allRows gives what the database has of a store's checkpoints, ready or not.
func (a *app) allRows(ctx context.Context, store string) ([]record.Checkpoint, error) {
	recs, err := a.run.List(ctx, nil, pipeline.Tool("cpdb", "checkpoint", "list", "--store", store, "--all"))
	return collect[record.Checkpoint](recs, "checkpoint", err)
}

// quiesce gives the words that make a stage wait for bands that stand still. Where
// the bundle is in the usual place it is named, so that the sync of the mount need
// not wait for begin.
func (a *app) quiesce(store string) []string {
	args := []string{"bundlectl", "quiesce", "--early"}
	bundle := a.usualBundle(store)
	if _, err := os.Stat(bundle); err == nil {
		args = append(args, "--bundle", bundle)
	}
	return append(args, "--")
}

// usualBundle is where a store's bundle is, unless it was put elsewhere.
func (a *app) usualBundle(store string) string {
	return filepath.Join(a.lockDir(store), store+".sparsebundle")
}

// followUp starts what is done in the background once a checkpoint has been made,
// which rec tells of: it is made durable, the oldest ones are pruned if there are too many, the next one
// is made ready, and its changes are listed. Pruning drops the spare, so it makes the
// next one itself.
func (a *app) followUp(rec *record.Record, cp record.Checkpoint) {
	var st record.Store
	if rec.Get("store", &st) != nil {
		return
	}
	a.syncAfter(st.Name)
	cfg, err := a.readConfig()
	if err != nil {
		a.warn("nothing is pruned or indexed: %v", err)
	}
	if err != nil || !a.pruneAfter(cfg, st) {
		a.makeSpare(cp)
	}
	if err == nil {
		a.indexAfter(cfg, st.Name)
		a.sumAfter(cfg, cp)
	}
}

// sumAfter starts to write down what the bands of a new checkpoint hold, in the
// background and without the store's lock.
func (a *app) sumAfter(cfg config, cp record.Checkpoint) {
	if !cfg.autoSum {
		return
	}
	free := *a.run
	free.Lock, free.Also = nil, nil
	free.Detach(pipeline.Tool("bandclone", "sum", "--rest", cp.Dir))
}

// makeSpare makes the next checkpoint ready while nobody waits: it will have to
// link only what has changed.
func (a *app) makeSpare(cp record.Checkpoint) {
	a.run.Detach(pipeline.Tool("bandclone", "spare", cp.Dir))
}

// sweepStore sweeps every checkpoint that is half made or half deleted. The lock is held: nobody
// is at work on them. What cannot be swept now is swept after the next one.
func (a *app) sweepStore(ctx context.Context, store string) {
	all, err := a.allRows(ctx, store)
	if err != nil {
		return
	}
	for _, cp := range all {
		if cp.Status == record.CheckpointPending || cp.Status == record.CheckpointDeleting {
			_ = a.sweep(ctx, cp)
		}
	}
}

// sweepAfter sweeps what begin has found lying about, once the user has what he
// asked for.
func (a *app) sweepAfter(ctx context.Context, rec *record.Record) {
	var left []record.Checkpoint
	if !rec.Has("leftovers") || rec.Get("leftovers", &left) != nil {
		return
	}
	for _, cp := range left {
		if err := a.sweep(ctx, cp); err != nil {
			a.warn("leftover %s stays for now: %v", version(cp.Version), err)
		}
	}
}

// sweep removes the bands of a checkpoint that is not ready, then its row.
func (a *app) sweep(ctx context.Context, cp record.Checkpoint) error {
	if err := sweepBefore.Reach(); err != nil {
		return err
	}
	rec := record.New()
	if err := rec.Set("checkpoint", cp); err != nil {
		return err
	}
	return a.run.Exec(ctx, rec,
		pipeline.Tool("bandclone", "rm").Then(sweepBands.Reach),
		pipeline.Tool("cpdb", "checkpoint", "abort"))
}
