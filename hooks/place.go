package main

import (
	"os"
	"path/filepath"

	"agentfs.internal/tool/status"
)

// place is where an agent is told its hooks.
type place struct {
	env     string // the variable that moves the directory of the user's settings; may be ""
	under   string // the directory in the one that env tells
	home    string // that directory, in the home directory
	project string // the one in a project
	file    string // in either
	format  format
}

// format is how hooks stand in a file. An empty text is a file that is not there.
type format interface {
	// add gives the text with the hooks in it, which it must not have yet.
	add(text []byte, exe string, worktrees bool) ([]byte, error)
	// remove gives the text without our hooks.
	remove(text []byte) ([]byte, error)
	// bare tells whether a text is no more than what add began with.
	bare(text []byte) bool
	// find gives our hooks in a text.
	find(text []byte) ([]found, error)
}

// found is one of our hooks, as it stands in a file.
type found struct {
	event   string
	command string // the path of agentfs-hook
	text    string // all of it
}

// path gives the file for a scope; dir is where the caller stands.
func (p place) path(scope, dir string) (string, error) {
	switch scope {
	case "user":
		if moved := os.Getenv(p.env); p.env != "" && moved != "" {
			return filepath.Join(moved, p.under, p.file), nil
		}
		home, err := os.UserHomeDir()
		return filepath.Join(home, p.home, p.file), err
	case "project":
		dir, err := filepath.Abs(dir)
		return filepath.Join(p.projectOf(dir), p.project, p.file), err
	}
	return "", status.Errorf(status.Usage, "bad --scope %q", scope).WithHint("user or project")
}

// projectOf gives the nearest directory from dir upwards that has settings of the agent,
// not beyond the repository's root, and not the home directory, whose are the user's.
// Without any it is the root, without a repository dir.
func (p place) projectOf(dir string) string {
	home, _ := os.UserHomeDir()
	for at := dir; at != home; at = filepath.Dir(at) {
		if isDir(filepath.Join(at, p.project)) {
			return at
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return dir
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
