package main

import (
	"context"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/status"
)

func (a *app) closeVerb() *command.Verb {
	return &command.Verb{
		Name: "close", Args: "[NAME]", Max: 1,
		Short: "unmount a store",
		Long: `
All that was written is on disk when it returns. A mount that processes still use
is refused, with their names (status 5).`,
		Run: a.close,
	}
}

var (
	closeLocked   = fault.Define("agentfs.close.locked")
	closeDetached = fault.Define("agentfs.close.detached")
)

func (a *app) close(ctx context.Context, _ command.IO, args []string) error {
	name, err := a.chosen(ctx, args)
	if err != nil {
		return err
	}
	rec, st, err := a.take(ctx, name)
	if err != nil {
		return err
	}
	if err := closeLocked.Reach(); err != nil {
		return err
	}
	detached := false
	err = a.run.Exec(ctx, rec,
		pipeline.Tool("bundlectl", "detach").Then(func() error { detached = true; return closeDetached.Reach() }),
		pipeline.Tool("cpdb", "store", "set", "--mounted=false"))
	switch {
	case err != nil && detached: // whether the database knows makes no difference
		_ = a.report(err)
	case status.Of(err) == status.Mount:
		return a.notMounted(ctx, st, err)
	case err != nil:
		return err
	}
	return a.result(mountOf(st, false), "Unmounted "+quoted(st.Name))
}
