package main

import (
	"context"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
)

// rescue brings a store back to a whole state after a swap that failed: forward
// where the new state is mounted already and only the end was missing, so that
// the restore has worked after all; else to the old state, with the cause as the
// error.
func (r *restoring) rescue(ctx context.Context, cause error) error {
	blind := restoreRescuing.Reach()
	if blind == nil && r.attached && r.forward(ctx) == nil {
		return nil
	}
	untouched := false
	if blind == nil {
		untouched, blind = r.untouched(ctx)
	}
	if untouched {
		if busy := r.inUse(cause); busy != nil {
			return busy
		}
		return r.withdraw(ctx, cause)
	}
	cause = r.report(cause) // what happened comes first, what was done about it next
	if blind != nil {
		r.warn("it cannot be told whether the old state is still mounted: %v", blind)
	}
	if r.finished {
		r.warn("%s is mounted, but the restore could not be ended: the next command tries again", version(r.to.Version))
		return cause
	}
	if err := r.backToOld(ctx); err != nil {
		r.warn("the old state, saved as %s, could not be brought back now, the next command tries again: %v", version(r.saved.Version), err)
		return cause
	}
	r.warn("store %s is as it was before, and also saved as %s", quoted(r.store.Name), version(r.saved.Version))
	return cause
}

// untouched tells whether the old state is still mounted, so that nothing has
// happened to it. That the stage failed does not tell: a killed one may have
// unmounted it all the same.
func (r *restoring) untouched(ctx context.Context) (bool, error) {
	if !r.mounted || r.detached {
		return false, nil
	}
	return r.isMounted(ctx, r.store)
}

// forward does the last two steps again.
func (r *restoring) forward(ctx context.Context) error {
	end := pipeline.Tool("bandclone", "restore", finish).Then(func() error { r.finished = true; return nil })
	return r.run.Exec(ctx, r.rec, end, r.settled())
}

// withdraw ends a restore that has changed nothing at all, and gives its cause. The
// checkpoint just made goes again: attempts must not pile up.
func (r *restoring) withdraw(ctx context.Context, cause error) error {
	cause = r.report(cause)
	ready := pipeline.Tool("cpdb", "store", "set", "--status", record.StoreReady)
	err := r.run.Exec(ctx, r.rec, ready) // else the next command repairs it
	if err == nil {
		err = restoreWithdrawn.Reach()
	}
	if err == nil {
		err = r.remove(ctx, r.store.Name, version(r.saved.Version))
	}
	if err != nil {
		r.warn("nothing has changed, but the present stays saved as %s: %v", version(r.saved.Version), err)
	}
	return cause
}

// backToOld undoes the swap and leaves the store mounted if it was.
func (r *restoring) backToOld(ctx context.Context) error {
	if r.mounted {
		return r.endRestore(ctx, r.rec, r.store, undo)
	}
	stages := []pipeline.Stage{pipeline.Tool("bandclone", "restore", undo), setReady(false)}
	if yes, err := r.isMounted(ctx, r.store); err != nil {
		return err
	} else if yes {
		stages = append([]pipeline.Stage{pipeline.Tool("bundlectl", "detach")}, stages...)
	}
	return r.run.Exec(ctx, r.rec, stages...)
}
