package main

import (
	"context"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
)

// repair ends what a command that died left of a store, whose lock is held. A
// restore is finished where the bands that it left can be attached, else undone; one
// in place is left as far as it has come, and that is said;
// a store half made or half deleted is removed.
func (a *app) repair(ctx context.Context, rec *record.Record, st record.Store) error {
	if st.Status == record.StoreApplying {
		return a.cutShort(ctx, st)
	}
	if st.Status != record.StoreRestoring {
		if err := a.teardown(ctx, st); err != nil {
			return err
		}
		a.warn("repaired: removed store %s, which was left half made or half deleted", quoted(st.Name))
		return nil
	}
	if a.endRestore(ctx, rec, st, finish) != nil {
		if err := a.endRestore(ctx, rec, st, undo); err != nil {
			return err
		}
	}
	a.remounted = true
	// How far it had come is bandclone's knowledge; what was saved is ours.
	a.warn("repaired: ended the interrupted restore of store %s; the state before it is saved as \"pre-restore\"", quoted(st.Name))
	return nil
}

// The two ways to end a restore, as bandclone names them.
const (
	finish = "--finish"
	undo   = "--undo"
)

// endRestore brings a store in the middle of a restore to a whole state, the new
// one or the old one, mounted and ready. Both ways are harmless where there is
// nothing to finish or undo.
func (a *app) endRestore(ctx context.Context, rec *record.Record, st record.Store, how string) error {
	mounted, err := a.isMounted(ctx, st)
	if err != nil {
		return err
	}
	attach, swap := pipeline.Tool("bundlectl", "attach"), pipeline.Tool("bandclone", "restore", how)
	var stages []pipeline.Stage
	switch {
	case mounted && how == undo:
		stages = append(stages, pipeline.Tool("bundlectl", "detach"), swap, attach)
	case mounted:
		stages = append(stages, swap)
	case how == undo:
		stages = append(stages, swap, attach)
	default:
		stages = append(stages, attach, swap)
	}
	return a.run.Exec(context.WithoutCancel(ctx), rec, append(stages, setReady(true))...)
}

// setReady ends a pipeline whose store is whole again.
func setReady(mounted bool) pipeline.Stage {
	if mounted {
		return pipeline.Tool("cpdb", "store", "set", "--status", record.StoreReady, "--mounted=true")
	}
	return pipeline.Tool("cpdb", "store", "set", "--status", record.StoreReady, "--mounted=false")
}
