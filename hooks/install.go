package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"agentfs.internal/tool/command"
)

func (j *job) installVerb() *command.Verb {
	return &command.Verb{
		Name: "install", Args: "AGENT", Min: 1, Max: 1,
		Short: "put the hooks into an agent's settings",
		Long: `
Edits the settings in place, the user's or, with --scope project, those of the project
that the current directory is in. All else in the file stays as it is; its state before
the first install is kept beside it. To install again brings the hooks up to date.

With --worktrees Claude Code gets forks of the store for its worktrees.`,
		Flags: func(fs *flag.FlagSet) {
			j.flags(fs)
			fs.BoolVar(&j.worktrees, "worktrees", false, "fork the store where Claude Code wants a worktree")
		},
		Run: func(_ context.Context, stdio command.IO, args []string) error { return j.install(stdio, args[0]) },
	}
}

func (j *job) install(stdio command.IO, name string) error {
	c, err := j.open(name)
	if err != nil {
		return err
	}
	exe, err := self()
	if err != nil {
		return err
	}
	had, err := c.find(c.before)
	if err != nil {
		return err
	}
	if c.after, err = c.with(exe, j.worktrees); err != nil {
		return c.named(err)
	}
	now, err := c.find(c.after)
	if err != nil {
		return err
	}
	if sameHooks(had, now) {
		c.after = c.before
		return j.finish(c, stdio.Out, fmt.Sprintf("The hooks of %s are in %s already\n", c.agent.title, c.path))
	}
	if len(had) == 0 {
		c.backup = c.before
	}
	return j.finish(c, stdio.Out, fmt.Sprintf("Installed the hooks of %s in %s\n", c.agent.title, c.path))
}

// sameHooks tells whether hooks differ in nothing but their order.
func sameHooks(a, b []found) bool {
	order := func(x, y found) int { return strings.Compare(x.event+x.text, y.event+y.text) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}

// with gives the text with our hooks as they are to be, and none besides.
func (c *change) with(exe string, worktrees bool) ([]byte, error) {
	format := c.agent.place.format
	text, err := format.remove(c.before)
	if err != nil {
		return nil, err
	}
	return format.add(text, exe, worktrees)
}
