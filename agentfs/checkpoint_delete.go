package main

import (
	"context"
	"slices"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/status"
)

func (a *app) forgetVerb() *command.Verb {
	return &command.Verb{
		Name: "delete", Args: "VERSION", Min: 1, Max: 1,
		Short: "delete a checkpoint",
		Long: `Asks first; -f does not. The version is not used again. What is known of its changes
goes, too; those of the next one are then those of both.`,
		Run: a.forget,
	}
}

var (
	forgetLocked = fault.Define("agentfs.checkpoint-delete.locked")
	forgetMarked = fault.Define("agentfs.checkpoint-delete.marked")
	forgetBands  = fault.Define("agentfs.checkpoint-delete.bands-gone")
)

type forgotten struct {
	Store   string `json:"store"`
	Version string `json:"version"`
	Deleted bool   `json:"deleted"`
}

func (a *app) forget(ctx context.Context, _ command.IO, args []string) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	_, _, cp, err := a.checkpoint(ctx, name, args[0])
	if err != nil {
		return err
	}
	if err := a.confirm(ctx, "Delete checkpoint %s?", version(cp.Version)); err != nil {
		return err
	}
	if _, _, err := a.take(ctx, name); err != nil {
		return err
	}
	if err := forgetLocked.Reach(); err != nil {
		return err
	}
	if err := a.remove(ctx, name, version(cp.Version)); err != nil {
		return err
	}
	return a.result(forgotten{name, version(cp.Version), true}, "Deleted "+version(cp.Version))
}

// remove deletes a checkpoint of a store whose lock is held. From its mark on it
// is gone for all readers; if the rest fails it is a leftover, which is said and is no
// error. With the flag --prune it is still known what was changed in it.
func (a *app) remove(ctx context.Context, store, version string, flags ...string) error {
	ctx = context.WithoutCancel(ctx)
	mark := slices.Concat([]string{"cpdb", "checkpoint", "rm", "--store", store}, flags, []string{"--", version})
	err := a.run.Exec(ctx, nil,
		pipeline.Tool(mark...).Then(forgetMarked.Reach),
		pipeline.Tool("bandclone", "rm").Then(forgetBands.Reach),
		pipeline.Tool("cpdb", "checkpoint", "abort"))
	if err == nil || status.Of(err) == status.NoCheckpoint {
		return err
	}
	if _, _, _, gone := a.checkpoint(ctx, store, version); status.Of(gone) != status.NoCheckpoint {
		return err
	}
	_ = a.report(err)
	a.warn("%s is deleted; what is left of it is removed now or later", version)
	a.sweepStore(ctx, store)
	return nil
}
