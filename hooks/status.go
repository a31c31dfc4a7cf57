package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

func (j *job) statusVerb() *command.Verb {
	return &command.Verb{
		Name: "status", Args: "[AGENT]", Max: 1,
		Short: "show which agents have the hooks",
		Long: `
Shows the user's settings and those of the project that the current directory is in, of
all agents or of one.`,
		Flags: j.dirFlag,
		Run:   j.status,
	}
}

// state is one file as status shows it.
type state struct {
	Agent         string   `json:"agent"`
	Scope         string   `json:"scope"`
	File          string   `json:"file"`
	Installed     bool     `json:"installed"`
	Events        []string `json:"events"`
	Command       string   `json:"command,omitempty"` // the path of agentfs-hook that it names
	CommandExists bool     `json:"command_exists"`    //
	Problem       string   `json:"problem,omitempty"` // why it cannot be told
}

func (j *job) status(_ context.Context, stdio command.IO, args []string) error {
	if len(args) == 0 {
		args = slices.Sorted(maps.Keys(agents))
	} else if agents[args[0]] == nil {
		return unknown(status.Usage, args[0])
	}
	list, text := []state{}, ""
	for _, name := range args {
		for _, j.scope = range []string{"user", "project"} {
			st := j.look(name)
			list = append(list, st)
			text += st.line()
		}
	}
	return j.show(stdio.Out, list, text)
}

// look looks into one file.
func (j *job) look(name string) state {
	st := state{Agent: name, Scope: j.scope, Events: []string{}}
	c, err := j.open(name)
	if err != nil {
		st.Problem = err.Error()
		return st
	}
	st.File = c.path
	all, err := c.find(c.before)
	if err != nil {
		st.Problem = err.Error()
		return st
	}
	st.Installed, st.Events = len(all) > 0, eventsOf(all)
	if st.Installed {
		st.Command = all[0].command
		_, err := os.Stat(st.Command)
		st.CommandExists = err == nil
	}
	return st
}

// line is a state as people read it.
func (st state) line() string {
	what := "not installed"
	switch {
	case st.Problem != "":
		what = "cannot be told: " + st.Problem
	case st.Installed && !st.CommandExists:
		what = "installed, but " + st.Command + " is not there"
	case st.Installed:
		what = "installed: " + strings.Join(st.Events, " ")
	}
	return fmt.Sprintf("%-11s  %-7s  %s\n%22s%s\n", st.Agent, st.Scope, st.File, "", what)
}
