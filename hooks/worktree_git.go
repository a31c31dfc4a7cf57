package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The hooks replace what Claude Code does by itself, so outside of a store the same has
// to be done: .claude/worktrees/NAME below the root of the repository, on the branch
// worktree-NAME, which begins as the remote's default branch or, without one, as HEAD.

var worktreesDir = filepath.Join(".claude", "worktrees")

func gitCreate(dir, name string) (string, error) {
	var out bytes.Buffer
	if err := run(dir, &out, "git", "rev-parse", "--show-toplevel"); err != nil {
		return "", fmt.Errorf("%s is neither in a mounted store nor in a git repository: %w", dir, err)
	}
	root := strings.TrimSuffix(out.String(), "\n")
	path := filepath.Join(root, worktreesDir, name)
	if isWorktree(path) {
		return path, nil
	}
	branch := "worktree-" + name
	add := []string{"worktree", "add", "--no-track", "-b", branch, path, "HEAD"}
	if run(root, nil, "git", "rev-parse", "--verify", "--quiet", "origin/HEAD") == nil {
		add[len(add)-1] = "origin/HEAD"
	}
	if run(root, nil, "git", "rev-parse", "--verify", "--quiet", "refs/heads/"+branch) == nil {
		add = []string{"worktree", "add", path, branch}
	}
	return path, run(root, nil, "git", add...)
}

// gitRemove removes a worktree that gitCreate, or Claude Code itself, has made. Git
// refuses where something in it is not committed; the branch goes if all of it has been
// merged.
func gitRemove(path string) error {
	if filepath.Clean(path) != path || !strings.HasSuffix(filepath.Dir(path), "/"+worktreesDir) {
		return fmt.Errorf("%q was not made here", path)
	}
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		return nil
	}
	if !isWorktree(path) {
		return fmt.Errorf("%q is no worktree", path)
	}
	root := strings.TrimSuffix(filepath.Dir(path), "/"+worktreesDir)
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := run(root, nil, "git", "worktree", "remove", path); err != nil {
		return err
	}
	_ = run(root, nil, "git", "branch", "--delete", "worktree-"+filepath.Base(path))
	return nil
}

// isWorktree tells whether a directory is a linked worktree: .git is a file in it.
func isWorktree(path string) bool {
	st, err := os.Lstat(filepath.Join(path, ".git"))
	return err == nil && st.Mode().IsRegular()
}
