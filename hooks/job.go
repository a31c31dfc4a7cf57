package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"

	"agentfs.internal/tool/status"
)

// job is what install, uninstall and status are told.
type job struct {
	json      bool
	scope     string
	dir       string
	dryRun    bool
	worktrees bool
}

// result is what install and uninstall show with --json.
type result struct {
	Agent     string   `json:"agent"`
	Scope     string   `json:"scope"`
	File      string   `json:"file"`
	Installed bool     `json:"installed"` // after this
	Changed   bool     `json:"changed"`   // by this, or, with --dry-run, would be
	Events    []string `json:"events"`    // those that are hooked after this
	Backup    string   `json:"backup,omitempty"`
	Note      string   `json:"note,omitempty"` // what is left for the person to do
	Diff      string   `json:"diff,omitempty"` // with --dry-run
}

// flags registers what install and uninstall have in common.
func (j *job) flags(fs *flag.FlagSet) {
	fs.StringVar(&j.scope, "scope", "user", "whose settings: `SCOPE` is user or project")
	fs.BoolVar(&j.dryRun, "dry-run", false, "show what would change, and change nothing")
	j.dirFlag(fs)
}

func (j *job) dirFlag(fs *flag.FlagSet) {
	fs.StringVar(&j.dir, "dir", ".", "a `DIR` in the project, instead of the current one")
}

// change is one file as it is and as it is to be.
type change struct {
	agent  *agent
	path   string // of the file itself, where settings are a symbolic link to it
	before []byte // nil where there is no file
	after  []byte // the same
	backup []byte // the state before the first install; nil for none
}

// backupOf is where the state before the first install is kept.
func backupOf(path string) string { return path + ".agentfs-backup" }

// open reads an agent's file.
func (j *job) open(name string) (*change, error) {
	a := agents[name]
	if a == nil {
		return nil, unknown(status.Usage, name)
	}
	path, err := a.place.path(j.scope, j.dir)
	if err != nil {
		return nil, err
	}
	c := &change{agent: a, path: path}
	if real, err := filepath.EvalSymlinks(c.path); err == nil {
		c.path = real
	} else if _, e := os.Lstat(c.path); e == nil {
		return nil, err // a link that leads nowhere
	}
	if c.before, err = readIf(c.path); err == nil {
		c.backup, err = readIf(backupOf(c.path))
	}
	return c, err
}

// readIf reads a file, nil where there is none.
func readIf(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, err
}

// find gives our hooks in a text of this file.
func (c *change) find(text []byte) ([]found, error) {
	all, err := c.agent.place.format.find(text)
	return all, c.named(err)
}

// named says which file an error is about.
func (c *change) named(err error) error {
	if err == nil {
		return nil
	}
	return status.Errorf(status.General, "%s: %w", c.path, err).WithHint("mend it, or move it away; nothing was changed")
}

// finish makes the change, or shows it, and tells what was done.
func (j *job) finish(c *change, out io.Writer, said string) error {
	after, err := c.find(c.after)
	if err != nil {
		return err
	}
	r := result{Agent: c.agent.name, Scope: j.scope, File: c.path, Installed: len(after) > 0,
		Changed: !same(c.before, c.after), Events: eventsOf(after)}
	if r.Installed {
		r.Note = c.agent.note
		if j.scope == "project" {
			r.Note += "; the file names a path of this machine, so keep it out of what others get"
		}
	}
	switch {
	case !r.Changed:
	case j.dryRun:
		r.Diff = c.diff()
		said = r.Diff
	default:
		if err := c.publish(); err != nil {
			return err
		}
		if c.backup != nil {
			r.Backup = backupOf(c.path)
			said += "What it was before: " + r.Backup + "\n"
		}
		if r.Note != "" {
			said += "To do: " + r.Note + "\n"
		}
	}
	return j.show(out, r, said)
}

// show writes the document, or the lines for people.
func (j *job) show(out io.Writer, doc any, lines string) error {
	if !j.json {
		_, err := io.WriteString(out, lines)
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

// eventsOf gives the events of hooks, each once.
func eventsOf(all []found) []string {
	events := []string{}
	for _, f := range all {
		if !slices.Contains(events, f.event) {
			events = append(events, f.event)
		}
	}
	return events
}

// same tells whether two texts are one, no file being no empty one.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// self gives the path of this program, as settings get it. Tests have another.
var self = os.Executable
