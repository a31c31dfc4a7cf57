package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	rmTrashed = fault.Define("bandclone.rm.trashed") // the checkpoint has its last name
	rmLatest  = fault.Define("bandclone.rm.latest")  // latest points to another
)

const checkpointsName = "checkpoints"

func rmVerb() *command.Verb {
	return &command.Verb{
		Name:  "rm",
		Args:  "[DIR]",
		Short: "delete a checkpoint",
		Long: `
DIR must be named vN and be in a directory named checkpoints. It is renamed
first: it is gone at once or not at all. "latest" then points to the highest
that remains. What dead commands have left beside it is deleted too.

A checkpoint that is gone already is an error (4) for DIR, and nothing to do for
a record, so that a clean-up can be repeated.

in: checkpoint; out: the same`,
		Max: 1,
		Run: runRm,
	}
}

func runRm(ctx context.Context, stdio command.IO, args []string) error {
	rec, err := record.Input(ctx, stdio.In, len(args) == 1)
	if err != nil {
		return err
	}
	path := ""
	if len(args) == 1 {
		path = args[0]
	} else if err := fromRecord(rec, nil, &path, nil); err != nil {
		return err
	}
	if err := removeCheckpoint(path, len(args) == 1); err != nil {
		return err
	}
	return rec.Write(stdio.Out)
}

// removeCheckpoint deletes a checkpoint and what is left of others. With must it
// has to be there.
func removeCheckpoint(path string, must bool) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if !isVersion(filepath.Base(abs)) || filepath.Base(filepath.Dir(abs)) != checkpointsName {
		return status.Errorf(status.Usage, "%s: not a checkpoint", path).WithHint("a checkpoint is …/%s/vN", checkpointsName)
	}
	beside, name, err := split(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(path, must)
	}
	if err != nil {
		return err
	}
	defer beside.Close()
	if err := trashCheckpoint(beside, name); errors.Is(err, fs.ErrNotExist) {
		err = gone(path, must)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := rmTrashed.Reach(); err != nil {
		return err
	}
	if err := dropSpare(beside); err != nil {
		return err
	}
	if err := stage.Repoint(beside); err != nil {
		return err
	}
	if err := beside.Sync(); err != nil {
		return err
	}
	if err := rmLatest.Reach(); err != nil {
		return err
	}
	return stage.Sweep(beside, ".", leftovers)
}

func gone(path string, must bool) error {
	if !must {
		return nil
	}
	return status.Errorf(status.NoCheckpoint, "no checkpoint at %s", path)
}

// trashCheckpoint gives the checkpoint its last name.
func trashCheckpoint(beside *dir.Dir, name string) error {
	d, err := beside.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := bands.Read(d); err != nil {
		return fmt.Errorf("not a checkpoint: %w", err)
	}
	return stage.Trash(beside, name, ".")
}
