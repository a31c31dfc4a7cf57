package main

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"path/filepath"

	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func sweepVerb() *command.Verb {
	var bundle string
	var dry bool
	return &command.Verb{
		Name:  "sweep",
		Short: "remove what dead commands have left beside the checkpoints",
		Long: `
Temporary directories whose makers have died, and what is half deleted. "create" and
"rm" do the same by the way.

in: store; out: one "swept" a line, a path`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&bundle, "bundle", "", "`BUNDLE`; its checkpoints are in checkpoints beside it")
			fs.BoolVar(&dry, "dry-run", false, "only tell what there is")
		},
		Run: func(ctx context.Context, stdio command.IO, _ []string) error {
			rec, err := record.Input(ctx, stdio.In, bundle != "")
			if err != nil {
				return err
			}
			if err := fromRecord(rec, &bundle, nil, nil); err != nil {
				return err
			}
			return sweep(rec, stdio, bundle, dry)
		},
	}
}

func sweep(rec *record.Record, stdio command.IO, bundle string, dry bool) error {
	path, err := filepath.Abs(bundle)
	if err != nil {
		return err
	}
	beside, err := dir.Open(filepath.Join(filepath.Dir(path), checkpointsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer beside.Close()
	names, err := stage.Leftovers(beside, ".", leftovers)
	if err != nil {
		return err
	}
	if !dry {
		if err := stage.Sweep(beside, ".", leftovers); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := errors.Join(rec.Set("swept", beside.Path(name)), rec.Write(stdio.Out)); err != nil {
			return err
		}
	}
	return nil
}
