package main

import (
	"context"
	"flag"
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
		Long:  `A star behind the version marks one that is pinned.`,
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
	for _, cp := range found {
		list = append(list, described(name, cp))
		rows = append(rows, []string{marked(cp), cut(visible(cp.Message)), ago(cp.CreatedAt)})
	}
	return a.result(list, table(rows)...)
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
