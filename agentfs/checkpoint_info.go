package main

import (
	"context"
	"time"

	"agentfs.internal/tool/command"
)

func (a *app) infoVerb() *command.Verb {
	return &command.Verb{
		Name: "info", Args: "VERSION", Min: 1, Max: 1,
		Short: "show a checkpoint's details",
		Run:   a.info,
	}
}

func (a *app) info(ctx context.Context, _ command.IO, args []string) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	_, _, cp, err := a.checkpoint(ctx, name, args[0])
	if err != nil {
		return err
	}
	lines := []string{
		"Checkpoint:  " + version(cp.Version),
		"Store:       " + name,
		"Message:     " + visible(cp.Message),
		"Created:     " + cp.CreatedAt.Local().Format(time.DateTime),
	}
	if cp.Pinned {
		lines = append(lines, "Pinned:      Yes")
	}
	return a.result(described(name, cp), lines...)
}
