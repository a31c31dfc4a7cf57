package main

import (
	"context"
	"flag"
	"strings"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) searchVerb() *command.Verb {
	q := &asking{app: a, verb: "search", limit: -1}
	return &command.Verb{
		Name: "search", Args: "TEXT…", Min: 1, Max: -1,
		Short: "find checkpoints by words",
		Long: `
Finds those that have, for each word of TEXT, one that begins with it: in the message,
in what the agent was asked for, in the names of agent and action, or in a changed
path. Newest first: version, message, how long ago, who made its changes, and the first
of the paths that match.`,
		Flags: func(fs *flag.FlagSet) { q.limitFlag(fs) },
		Run:   func(ctx context.Context, _ command.IO, args []string) error { return q.search(ctx, args) },
	}
}

func (q *asking) search(ctx context.Context, args []string) error {
	text := strings.TrimSpace(strings.Join(args, " "))
	if text == "" {
		return status.Errorf(status.Usage, "search: no text").WithHint(`agentfs search "refactor"`)
	}
	name, err := q.selected(ctx)
	if err != nil {
		return err
	}
	if err := q.catchUpNow(ctx, name); err != nil {
		return err
	}
	list, err := q.listByChanges(ctx, name, []string{"cpdb", "search", "--store", name}, []string{text})
	if err != nil {
		return err
	}
	rows := make([][]string, len(list))
	for i, e := range list {
		rows[i] = []string{marked(e.cp), caption(e.cp), age(e.CreatedAt), agentOf(e.Author), e.matches()}
	}
	return q.show(list, "Nothing found", columns(rows))
}

// matches are the paths that were found, which may not be all that were changed.
func (e entry) matches() string {
	if e.Status == record.CheckpointPruned {
		return strings.TrimSpace(pathList(e.Paths) + "  (pruned)")
	}
	return pathList(e.Paths)
}
