package main

import (
	"context"
	"errors"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	doubtProved  = fault.Define("agentfs.doubt.proved")
	doubtDropped = fault.Define("agentfs.doubt.dropped")
)

// believe looks at the checkpoints that were not durable when the machine stopped, as
// rec, which has the store, names them. What is whole is made durable. What is torn is
// dropped, and said. The lock is held. That an image cannot be mounted proves that it is
// torn only where another one of the same store can be, as with mounted.
func (a *app) believe(ctx context.Context, rec *record.Record, mounted bool) error {
	var list []record.Checkpoint
	if !rec.Has("doubtful") {
		return nil
	}
	if err := rec.Get("doubtful", &list); err != nil {
		return err
	}
	for _, cp := range list {
		err := a.prove(ctx, rec, cp)
		torn := status.Of(err) == status.NoCheckpoint || mounted && status.Of(err) == status.Mount
		switch {
		case errors.Is(err, pipeline.ErrInterrupted):
			return err
		case err == nil:
		case torn:
			_ = a.report(err)
			if err := a.drop(ctx, rec, cp); err != nil {
				return err
			}
		default:
			_ = a.report(err)
			a.warn("%s was not durable when the machine stopped, and cannot be looked at now: the next open tries again", titled(cp))
		}
	}
	return nil
}

// prove makes a checkpoint durable, if it is whole and its filesystem can be mounted.
func (a *app) prove(ctx context.Context, rec *record.Record, cp record.Checkpoint) error {
	one := rec.Without("doubtful")
	if err := one.Set("checkpoint", cp); err != nil {
		return err
	}
	return a.run.Exec(ctx, one,
		pipeline.Tool("bandclone", "sync", "--check").Then(doubtProved.Reach),
		pipeline.Tool("bundlectl", "attach", "--checkpoint", "-", "--", "sh", "-c", `ls "$0" >/dev/null || exit 5; cat`, treeMark),
		pipeline.Tool("cpdb", "checkpoint", "set", "--durable"))
}

// drop deletes a checkpoint that is torn. Its version is not used again.
func (a *app) drop(ctx context.Context, rec *record.Record, cp record.Checkpoint) error {
	var st record.Store
	if err := rec.Get("store", &st); err != nil {
		return err
	}
	if err := a.remove(ctx, st.Name, version(cp.Version)); err != nil {
		return err
	}
	a.warn("%s was not durable when the machine stopped and is torn: dropped", titled(cp))
	return doubtDropped.Reach()
}
