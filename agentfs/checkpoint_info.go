package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
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
	if cp.DurableAt == nil {
		lines = append(lines, "Durable:     Not yet")
	}
	if cp.Pinned {
		lines = append(lines, "Pinned:      Yes")
	}
	return a.result(described(name, cp), append(lines, because(cp)...)...)
}

// because says why there is a checkpoint and what was changed in it, as far as is
// known.
func because(cp record.Checkpoint) []string {
	action := cp.Action
	if cp.Before && action != "" {
		action = "before " + action
	}
	var lines []string
	for _, f := range [][2]string{
		{"Agent:       ", cp.Agent}, {"Action:      ", action}, {"Session:     ", cp.Session}, {"Prompt:      ", cp.Prompt},
	} {
		if f[1] != "" {
			lines = append(lines, f[0]+visible(f[1]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(cp.Meta)) {
		lines = append(lines, "Meta:        "+visible(key+"="+cp.Meta[key]))
	}
	if cp.Index == record.IndexDone {
		lines = append(lines, fmt.Sprintf("Changes:     %d (+%d -%d)", cp.Changes, cp.LinesAdded, cp.LinesDeleted))
	}
	return lines
}
