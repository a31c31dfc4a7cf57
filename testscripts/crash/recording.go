//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"agentfs.internal/testscripts/crash/claims"
	"agentfs.internal/testscripts/crash/replay"
	"agentfs.internal/testscripts/crash/workload"
)

// recording is a directory with all that is known of a workload.
type recording struct{ dir string }

func (r recording) root() string   { return filepath.Join(r.dir, "root") } // a state of it is mounted there
func (r recording) home() string   { return filepath.Join(r.root(), "home") }
func (r recording) base() string   { return filepath.Join(r.dir, "base") }
func (r recording) dbs() string    { return filepath.Join(r.dir, "dbs") }
func (r recording) log() string    { return filepath.Join(r.dir, "log") }
func (r recording) claims() string { return filepath.Join(r.dir, "claims") }

// record runs a workload on the real tools, with the band servers logging and stages
// standing in.
func (r recording) record(ctx context.Context, seed uint64, rounds int) error {
	for _, dir := range []string{r.dir, r.home(), r.dbs(), filepath.Join(r.dir, "bin"), filepath.Join(r.dir, "real")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := r.setUpTools(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	told, err := claims.Create(r.claims())
	if err != nil {
		return err
	}
	defer told.Close()
	return workload.Run(ctx, workload.Config{
		Home:     r.home(),
		Dir:      r.root(),
		Bin:      filepath.Join(r.dir, "bin"),
		Env:      append(workload.Env, "AGENTFS_RECORD="+r.log(), stageEnv+"="+r.dir),
		Hasher:   []string{self, wordTreehash},
		Seed:     seed,
		Rounds:   rounds,
		Claims:   told,
		Position: func() int64 { return replay.Position(r.log()) },
		Start:    r.start,
	})
}

// setUpTools makes a directory in which agentfs finds the stages beside itself.
func (r recording) setUpTools() error {
	for _, tool := range tools {
		path, err := exec.LookPath(tool)
		if err != nil {
			return err
		}
		to := filepath.Join(r.dir, "bin", tool)
		if stages[tool] {
			if err := copyFile("/proc/self/exe", to); err != nil {
				return err
			}
			to = filepath.Join(r.dir, "real", tool)
		}
		if err := copyFile(path, to); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o700)
}

// start begins the log where the home has been copied.
func (r recording) start() error {
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(r.log()); err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-a", "--sparse=always", r.home(), r.base()).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	db, err := r.copyDB()
	if err != nil {
		return err
	}
	return r.mark(replay.Mark{What: "start", DB: db})
}

// open reads what was recorded.
func (r recording) open(seed uint64) (*replay.Recording, error) {
	log, err := replay.ReadLog(r.log())
	return &replay.Recording{Home: r.home(), Base: r.base(), DBs: r.dbs(), Log: log, Seed: seed}, err
}
