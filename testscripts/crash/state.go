//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"agentfs.internal/testscripts/crash/check"
	"agentfs.internal/testscripts/crash/claims"
	"agentfs.internal/testscripts/crash/workload"
	"agentfs.internal/testscripts/treehash"
)

// crashState is one crash: a directory with what it has left, and what is known of it.
type crashState struct {
	Kind   string
	Index  int
	Cut    int64    // its time, as the claims count it
	Seed   uint64   //
	Dir    string   // the state
	Root   string   // where it was recorded: there it is looked at
	Claims string   // file of the claims
	Env    []string // for the commands, on top of the workload's
}

// runDir is where band servers have their sockets.
const runDir = "/run/agentfs"

// patience is how long the check of one state may take.
const patience = 5 * time.Minute

// check checks the state in namespaces of its own, in which it is at the paths at which
// it was recorded.
func (s crashState) check(ctx context.Context) (result check.Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	data, err := json.Marshal(s)
	if err != nil {
		return result, err
	}
	if err := enclosed(ctx, wordState, string(data)); err != nil {
		return result, fmt.Errorf("%s:%d: %w", s.Kind, s.Index, err)
	}
	data, err = os.ReadFile(s.resultFile())
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	return result, err
}

func (s crashState) resultFile() string { return filepath.Join(s.Dir, "result.json") }

// checkState is what check starts.
func checkState(ctx context.Context, arg string) error {
	var s crashState
	if err := json.Unmarshal([]byte(arg), &s); err != nil {
		return err
	}
	list, err := claims.Read(s.Claims)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := unix.Mount(s.Dir, s.Root, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount at %s: %w", s.Root, err)
	}
	if err := ownTmpfs(runDir); err != nil { // another state's server has a bundle at the same path
		return err
	}
	before, underway := claims.At(list, s.Cut)
	result := check.State(ctx, check.Input{
		Home: filepath.Join(s.Root, "home"), Temp: s.Dir, Env: append(s.Env, workload.Env...),
		Hasher: []string{self, wordTreehash}, Before: before, Underway: underway, Seed: s.Seed,
	})
	data, err := json.Marshal(result)
	if err == nil {
		err = os.WriteFile(s.resultFile(), data, 0o600)
	}
	return err
}

// hashTrees prints the hash of each tree as a claim has it.
func hashTrees(dirs []string) error {
	for _, dir := range dirs {
		timeless, err := treehash.Timeless(dir)
		if err != nil {
			return err
		}
		whole, err := treehash.Sum(dir)
		if err != nil {
			return err
		}
		fmt.Println(timeless + "." + whole)
	}
	return nil
}

// remove removes a state when nothing of it is mounted any more: the kernel unmounts
// what was left in its namespaces.
func (s crashState) remove() error {
	var err error
	for range 100 {
		if err = os.RemoveAll(s.Dir); !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
