package main

import (
	"context"
	"fmt"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func (a *app) pinVerb() *command.Verb {
	return &command.Verb{
		Name: "pin", Args: "VERSION", Min: 1, Max: 1,
		Short: "keep a checkpoint from being pruned",
		Long:  `It can still be deleted by 'agentfs checkpoint delete'.`,
		Run: func(ctx context.Context, _ command.IO, args []string) error {
			return a.pin(ctx, args[0], true)
		},
	}
}

func (a *app) unpinVerb() *command.Verb {
	return &command.Verb{
		Name: "unpin", Args: "VERSION", Min: 1, Max: 1,
		Short: "let a pinned checkpoint be pruned again",
		Run: func(ctx context.Context, _ command.IO, args []string) error {
			return a.pin(ctx, args[0], false)
		},
	}
}

type pinned struct {
	Store   string `json:"store"`
	Version string `json:"version"`
	Pinned  bool   `json:"pinned"`
}

func (a *app) pin(ctx context.Context, v string, yes bool) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	if err := a.hold(ctx, name); err != nil {
		return err
	}
	rec, err := a.run.Run(ctx, nil,
		pipeline.Tool("cpdb", "checkpoint", "set", "--store", name, fmt.Sprintf("--pinned=%t", yes), "--", v))
	var cp record.Checkpoint
	if err == nil {
		err = rec.Get("checkpoint", &cp)
	}
	if err != nil {
		var lost error
		if _, _, cp, lost = a.checkpoint(context.WithoutCancel(ctx), name, v); lost != nil || cp.Pinned != yes {
			return err
		}
		_ = a.report(err) // and it was done all the same
	}
	did := map[bool]string{true: "Pinned ", false: "Unpinned "}[cp.Pinned]
	return a.result(pinned{name, version(cp.Version), cp.Pinned}, did+titled(cp))
}
