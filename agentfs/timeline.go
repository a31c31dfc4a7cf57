package main

import (
	"context"
	"flag"
	"strings"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func (a *app) timelineVerb() *command.Verb {
	q := &asking{app: a, verb: "timeline", limit: -1}
	var paths []string
	return &command.Verb{
		Name:  "timeline",
		Short: "show what has changed lately, a line for each checkpoint",
		Long: `
Newest first: when, version, lines added and deleted since the checkpoint before, who
changed them, and the first paths. "…" stands for lines that are not counted yet, "?"
for those that cannot be. Pruned checkpoints are shown, too: what changed in them is
still known.

TIME is an age (90s, 30m, 1h, 2d, 1w), a time of today, yesterday, a date, a date with
a time, in local time, or as in RFC 3339. A day is its first moment.`,
		Flags: func(fs *flag.FlagSet) {
			q.timeFlags(fs)
			fs.Func("path", "only those where `PATH` or what is below it has changed; may be given again", func(s string) error {
				paths = append(paths, s)
				return nil
			})
			q.limitFlag(fs)
		},
		Run: func(ctx context.Context, _ command.IO, _ []string) error { return q.timeline(ctx, paths) },
	}
}

// pathsInLine is how many paths one line shows.
const pathsInLine = 3

func (q *asking) timeline(ctx context.Context, paths []string) error {
	name, err := q.selected(ctx)
	if err != nil {
		return err
	}
	if paths, err = q.chosenPaths(ctx, name, paths); err != nil {
		return err
	}
	list, err := q.log(ctx, name, pathsInLine, paths)
	if err != nil {
		return err
	}
	now := time.Now()
	rows := make([][]string, len(list))
	for i, e := range list {
		plus, minus := e.lines()
		rows[i] = []string{when(e.CreatedAt, now), marked(e.cp), plus, minus, agentOf(e.Author), e.about()}
	}
	// +n and -n belong together.
	lines := layOut(rows, func(column int) int { return map[bool]int{true: 1, false: 2}[column == 2] })
	return q.show(list, "No checkpoints", lines)
}

// agentOf names who made a change, without the action.
func agentOf(c record.Causality) string { return who(record.Causality{Agent: c.Agent}) }

// about is the end of a checkpoint's line: its paths, its message, and whether it has
// been pruned.
func (e entry) about() string {
	var parts []string
	if paths := e.paths(); paths != "" {
		parts = append(parts, paths)
	}
	if title := titleOf(e.cp); title != "" {
		parts = append(parts, `"`+cut(title)+`"`)
	}
	if e.Status == record.CheckpointPruned {
		parts = append(parts, "(pruned)")
	}
	return strings.Join(parts, "  ")
}
