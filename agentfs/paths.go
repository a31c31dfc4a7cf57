package main

import (
	"os"
	"path/filepath"
	"strings"

	"agentfs.internal/tool/status"
)

// abs makes a path absolute: from ~, which the shell leaves alone in
// --home=~/x and in config files, and from where the caller stands.
func (a *app) abs(path string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		home, err := os.UserHomeDir()
		return filepath.Join(home, path[1:]), err
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if a.cwd == "" {
		return "", status.Errorf(status.General, "%q: the current directory is gone", path)
	}
	return filepath.Join(a.cwd, path), nil
}

// physical resolves the symbolic links of the part of path that exists, so that
// it is the path by which the kernel knows a mount.
func physical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(physical(parent), filepath.Base(path))
}

// within tells whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// tilde shortens a path below the home directory, for people.
func tilde(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" || !within(path, home) {
		return path
	}
	return "~" + strings.TrimPrefix(path, home)
}
