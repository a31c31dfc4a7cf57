package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func (a *app) logVerb() *command.Verb {
	q := &asking{app: a, verb: "log", limit: -1}
	return &command.Verb{
		Name: "log", Args: "[-- PATH…]", Max: -1, Split: true,
		Short: "show checkpoints with why they were made",
		Long: `
Newest first, of each the version, when, by whom its changes were made, how many lines
were added and deleted, and then what there is of: the message, what the agent was
asked for, its session, before what it was made, and the changed paths.

With PATHs those in which these, or what is below them, have changed. They begin where
you stand in the mount, else at its root. --agent, --action and --session choose what
was changed by them and what was made for them. TIME is as for 'agentfs timeline'.`,
		Flags: func(fs *flag.FlagSet) {
			q.timeFlags(fs)
			fs.StringVar(&q.action, "action", "", "only what the tool or event `NAME` has to do with")
			fs.StringVar(&q.session, "session", "", "only what the agent's session `ID` has to do with")
			q.limitFlag(fs)
		},
		Run: func(ctx context.Context, _ command.IO, args []string) error { return q.details(ctx, args) },
	}
}

// pathsInBlock is how many paths log shows of a checkpoint.
const pathsInBlock = 10

func (q *asking) details(ctx context.Context, args []string) error {
	_, paths, err := split(q.verb, args, 0)
	if err != nil {
		return err
	}
	name, err := q.selected(ctx)
	if err != nil {
		return err
	}
	if paths, err = q.chosenPaths(ctx, name, paths); err != nil {
		return err
	}
	list, err := q.log(ctx, name, pathsInBlock, paths)
	if err != nil {
		return err
	}
	blocks := make([]string, len(list))
	for i, e := range list {
		blocks[i] = e.block()
		if i < len(list)-1 {
			blocks[i] += "\n"
		}
	}
	return q.show(list, "No checkpoints", blocks)
}

// block is a checkpoint in several lines.
func (e entry) block() string {
	plus, minus := e.lines()
	head := fmt.Sprintf("%s  %s  %s  %s %s", marked(e.cp), e.CreatedAt.Local().Format(time.DateTime), who(e.Author), plus, minus)
	if head = strings.TrimRight(head, " "); e.Status == record.CheckpointPruned {
		head += "  (pruned)"
	}
	lines := []string{head}
	for _, l := range [][2]string{
		{"Message: ", titleOf(e.cp)}, {"Prompt:  ", firstLine(e.Prompt)}, {"Session: ", e.session()}, {"Before:  ", e.before()}, {"Paths:   ", e.paths()},
	} {
		if l[1] != "" {
			lines = append(lines, "    "+l[0]+l[1])
		}
	}
	return strings.Join(lines, "\n")
}

// session is that of the author, or else the one that the checkpoint was made for.
func (e entry) session() string {
	if e.Author.Session != "" {
		return visible(e.Author.Session)
	}
	return visible(e.Session)
}

// before is what was about to be done when the checkpoint was made.
func (e entry) before() string {
	if !e.Before {
		return ""
	}
	return who(e.Causality)
}
