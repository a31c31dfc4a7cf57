package main

import (
	"context"
	"flag"
	"slices"
	"strconv"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) historyVerb() *command.Verb {
	var limit int
	return &command.Verb{
		Name:  "list",
		Short: "list checkpoints, newest first",
		Long: `A star behind the version marks one that is pinned. BY, where agents have made some,
tells who changed what is in it, or what it was made before.`,
		Flags: func(fs *flag.FlagSet) { fs.IntVar(&limit, "limit", 0, "show the newest `N` only") },
		Run: func(ctx context.Context, _ command.IO, _ []string) error {
			return a.listCheckpoints(ctx, limit)
		},
	}
}

func (a *app) listCheckpoints(ctx context.Context, limit int) error {
	if limit < 0 {
		return status.Errorf(status.Usage, "checkpoint list: bad --limit %d", limit)
	}
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	found, err := a.history(ctx, name, limit)
	if err != nil {
		return err
	}
	list, rows := []description{}, [][]string{{"VERSION", "MESSAGE", "CREATED"}}
	told := slices.ContainsFunc(found, func(cp record.Checkpoint) bool { return cp.Agent != "" })
	if told {
		rows[0] = append(rows[0], "BY")
	}
	for _, cp := range found {
		list = append(list, described(name, cp))
		row := []string{marked(cp), cut(visible(cp.Message)), ago(cp.CreatedAt)}
		if told {
			row = append(row, by(cp.Causality))
		}
		rows = append(rows, row)
	}
	return a.result(list, table(rows)...)
}

// by says on whose behalf a checkpoint was made: claude-code/Edit, or before it.
func by(c record.Causality) string {
	switch {
	case !c.Before || c.Action == "":
		return who(c)
	case c.Agent == "":
		return "before " + visible(c.Action)
	}
	return "before " + who(c)
}

// history gives the newest checkpoints, all of them for limit 0.
func (a *app) history(ctx context.Context, name string, limit int) ([]record.Checkpoint, error) {
	list := pipeline.Tool("cpdb", "checkpoint", "list", "--store", name)
	if limit > 0 {
		list.Args = append(list.Args, "--limit", strconv.Itoa(limit))
	}
	recs, err := a.run.List(ctx, nil, list)
	return collect[record.Checkpoint](recs, "checkpoint", err)
}
