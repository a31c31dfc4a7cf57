package main

import (
	"os"
	"path/filepath"
	"strings"
)

// What was made for worktrees is kept in one small file each, named after the fork, with
// the path that the agent was given. Only what is there is ever deleted.

func madeDir() (string, error) {
	home, err := homeDir()
	return filepath.Join(home, "worktrees"), err
}

func record(name, path string) error {
	dir, err := madeDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(path+"\n"), 0o600)
}

// recorded gives the path that a fork was made for, "" for one that we did not make.
func recorded(name string) string {
	dir, err := madeDir()
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// recordedFor gives the name of the fork that was made for a path, or "".
func recordedFor(path string) string {
	dir, err := madeDir()
	if err != nil || path == "" {
		return ""
	}
	files, _ := os.ReadDir(dir) // none, where there is no such directory
	for _, f := range files {
		if recorded(f.Name()) == filepath.Clean(path) {
			return f.Name()
		}
	}
	return ""
}

func forget(name string) error {
	dir, err := madeDir()
	if err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, name))
}
