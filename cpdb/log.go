package main

import (
	"context"
	"flag"
	"path"
	"strings"
	"time"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

type logVerb struct {
	*app
	store *string
	db.Filter
}

func history(a *app) *command.Verb {
	v := &logVerb{app: a}
	return &command.Verb{
		Name:  "log",
		Args:  "[-- PATH…]",
		Short: "list checkpoints, pruned ones too, with who changed what, newest first",
		Long: `With PATHs only those that changed one of them, or something below one; PATHs are
relative, with slashes. "author" is who made the changes. A checkpoint that was made
after an action has its own causality. What one --before an action holds came before
that: it is from the action that the parent was made before, where that is a tool of
the same session, else from a person, and "author" is empty. --agent, --action and
--session look at the author's and at the checkpoint's own.

in:  nothing
out: checkpoint, author and paths, a line each`,
		Max:   -1,
		Flags: v.flags,
		Run:   v.run,
	}
}

func (v *logVerb) flags(fs *flag.FlagSet) {
	optional(fs, &v.store, "store", "`name` of the store")
	fs.StringVar(&v.Agent, "agent", "", "those of this `agent`")
	fs.StringVar(&v.Action, "action", "", "those for this `tool` or event")
	fs.StringVar(&v.Session, "session", "", "those of this `session`")
	fs.Func("since", "made at this `time` or later, as in 2026-11-21T10:00:00Z", timeInto(&v.Since))
	fs.Func("until", "made at this `time` or earlier", timeInto(&v.Until))
	fs.IntVar(&v.Limit, "limit", 0, "at most so many; 0: no limit")
	fs.IntVar(&v.Paths, "paths", 3, "name so many of the changed paths, those asked for first")
}

func timeInto(t *time.Time) func(string) error {
	return func(s string) (err error) {
		*t, err = time.Parse(time.RFC3339, s)
		return err
	}
}

func (v *logVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	if err := v.complete(args); err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	list, err := d.Log(ctx, store, v.Filter)
	if err != nil {
		return err
	}
	return writeLines(stdio.Out, list)
}

func (v *logVerb) complete(args []string) error {
	if err := notNegative("limit", v.Limit); err != nil {
		return err
	}
	if err := notNegative("paths", v.Paths); err != nil {
		return err
	}
	for _, arg := range args {
		p, err := treePath(arg)
		if err != nil {
			return err
		}
		v.Under = append(v.Under, p)
	}
	return nil
}

func notNegative(name string, n int) error {
	if n < 0 {
		return status.Errorf(status.Usage, "bad --%s %d: want a number from 0 on", name, n)
	}
	return nil
}

// treePath gives a path in a tree as changes have it.
func treePath(arg string) (string, error) {
	p := path.Clean(arg)
	if arg == "" || path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") {
		return "", status.Errorf(status.Usage, "bad path %q: want one that is relative to the top of the tree", arg)
	}
	return p, nil
}
