package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

// worktree answers WorktreeCreate and WorktreeRemove: the two events that the agent
// waits for an answer to. A failure is told to the agent too, by the exit status.
func worktree(e event, stdio command.IO, log *journal) int {
	path, err := "", error(nil)
	if e.kind == worktreeCreate {
		path, err = createWorktree(e)
	} else {
		err = removeWorktree(e)
	}
	if err == nil && path != "" {
		_, err = fmt.Fprintln(stdio.Out, path)
	}
	if err != nil {
		log.write(err)
		fmt.Fprintf(stdio.Err, "agentfs-hook: %s: %v\n", e.name, err)
		return status.General
	}
	return status.OK
}

// store is what is asked of a store that agentfs shows.
type store struct {
	Name       string `json:"name"`
	Store      string `json:"store"`
	Mounted    bool   `json:"mounted"`
	MountPath  string `json:"mount_path"`
	ForkedFrom string `json:"forked_from"`
}

// createWorktree forks the store that the session works in; outside of one it makes a
// worktree of git.
func createWorktree(e event) (string, error) {
	if e.worktree == "" {
		return "", errors.New("the event has no name for it")
	}
	dir, err := physical(e.dir)
	if err != nil {
		return "", err
	}
	var here store
	if err := ask(dir, &here, "status"); err != nil && !notInStore(err) {
		return "", err
	}
	if !here.Mounted || !within(dir, here.MountPath) {
		return gitCreate(dir, e.worktree)
	}
	below, err := filepath.Rel(here.MountPath, repository(dir, here.MountPath))
	if err != nil {
		return "", err
	}
	name := forkName(here.Store, e.worktree)
	if path, err := reopen(name); path != "" || err != nil {
		return path, err
	}
	mount, err := forkStore(e, here.Store, name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(mount, below)
	return path, record(name, path)
}

// reopen gives the path of a fork that was made earlier under this name, mounted; "" for
// none. One that somebody has deleted since is forgotten.
func reopen(name string) (string, error) {
	path := recorded(name)
	if path == "" {
		return "", nil
	}
	var st store
	switch err := ask("/", &st, "status", "--store", name); {
	case notInStore(err):
		return "", forget(name)
	case err != nil:
		return "", err
	case st.Mounted:
		return path, nil
	}
	return path, run("/", nil, "agentfs", "open", name)
}

// forkStore saves the present of a store, forks it and gives the fork's mountpoint.
func forkStore(e event, from, name string) (string, error) {
	var saved struct{ Version string }
	create := append([]string{"checkpoint", "create", "--store", from, "worktree " + e.worktree, "--before", "--action", e.name}, e.cause()...)
	if err := ask(e.dir, &saved, create...); err != nil {
		return "", err
	}
	var made store
	err := ask(e.dir, &made, "fork", saved.Version, name, "--store", from)
	return made.MountPath, err
}

// removeWorktree deletes a fork that createWorktree has made for this path, or removes
// a worktree of git. Anything else is left alone.
func removeWorktree(e event) error {
	name := recordedFor(e.worktree)
	if name == "" {
		return gitRemove(e.worktree)
	}
	var all []store
	if err := ask("/", &all, "list"); err != nil {
		return err
	}
	for _, st := range all {
		if st.Name != name {
			continue
		}
		if st.ForkedFrom == "" || !within(e.worktree, st.MountPath) {
			return fmt.Errorf("store '%s' is not the fork that was made for %s", name, e.worktree)
		}
		if err := os.Chdir("/"); err != nil { // we may stand in what is to be unmounted
			return err
		}
		if err := run("/", nil, "agentfs", "delete", name, "-f"); err != nil {
			return err
		}
	}
	return forget(name)
}

// ask runs agentfs and reads its answer.
func ask(dir string, into any, args ...string) error {
	var out bytes.Buffer
	if err := run(dir, &out, "agentfs", append(args, "--json")...); err != nil {
		return err
	}
	return json.Unmarshal(out.Bytes(), into)
}

func notInStore(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == status.NoStore
}

// physical gives the path of a directory without symbolic links, as mounts are known.
func physical(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

func within(path, dir string) bool {
	return dir != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
}

// repository gives the root of the git repository that dir is in, if it lies within
// top: what a worktree would be a copy of. Else top.
func repository(dir, top string) string {
	for ; within(dir, top); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
	}
	return top
}

const maxName = 64 // of a store

// forkName is the name of the store that is forked for a worktree.
func forkName(from, name string) string {
	from = from[:min(len(from), maxName/2)]
	return from + "-" + name[:min(len(name), maxName-len(from)-1)]
}

// slug makes a name fit for a store and a branch.
func slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, name), "-")
}
