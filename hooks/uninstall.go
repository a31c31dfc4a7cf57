package main

import (
	"bytes"
	"context"
	"fmt"

	"agentfs.internal/tool/command"
)

func (j *job) uninstallVerb() *command.Verb {
	return &command.Verb{
		Name: "uninstall", Args: "AGENT", Min: 1, Max: 1,
		Short: "take the hooks out again",
		Long: `
Takes out what install has put in, and nothing else: a file in which nothing was changed
since is then, byte by byte, what it was before.`,
		Flags: j.flags,
		Run:   func(_ context.Context, stdio command.IO, args []string) error { return j.uninstall(stdio, args[0]) },
	}
}

func (j *job) uninstall(stdio command.IO, name string) error {
	c, err := j.open(name)
	if err != nil {
		return err
	}
	had, err := c.find(c.before)
	if err != nil {
		return err
	}
	if len(had) == 0 {
		c.after, c.backup = c.before, nil
		return j.finish(c, stdio.Out, fmt.Sprintf("No hooks of agentfs for %s in %s\n", c.agent.title, c.path))
	}
	if c.after, err = c.without(had); err != nil {
		return c.named(err)
	}
	return j.finish(c, stdio.Out, fmt.Sprintf("Removed the hooks of %s from %s\n", c.agent.title, c.path))
}

// without gives the text without our hooks. Where it is just what an install makes of
// the backup, it is the backup: that alone tells what an empty object looked like.
func (c *change) without(had []found) ([]byte, error) {
	format := c.agent.place.format
	if c.backup != nil {
		worktrees := bytes.Contains(c.before, []byte(`"WorktreeCreate"`))
		again, err := format.add(c.backup, had[0].command, worktrees)
		if err == nil && bytes.Equal(again, c.before) {
			return c.backup, nil
		}
	}
	text, err := format.remove(c.before)
	if err == nil && c.backup == nil && format.bare(text) {
		text = nil // install had made the file
	}
	return text, err
}
