package main

import (
	"context"
	"errors"
	"flag"
	"io/fs"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

type compareOptions struct{ quick bool }

func compareVerb() *command.Verb {
	o := &compareOptions{}
	return &command.Verb{
		Name:  "compare",
		Args:  "[A B]",
		Short: "tell which bands differ between two checkpoints, or a checkpoint and the live bands",
		Long: `
A and B are directories of bands, or bundles. With a record they are its
checkpoint and the live bands of its store.

The answer is exact: one file under two names is equal, so are files that share
all their data on the disk, and everything else is read. Holes, the end of a
short band and a missing band are zeros.

in: store, checkpoint, or nothing; out: + compare {"equal":false,"changed":["1a"]}`,
		Max: 2,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&o.quick, "quick", false, "stop at the first difference; do not tell which bands differ")
		},
		Run: o.run,
	}
}

// comparison is the key "compare" of the record.
type comparison struct {
	Equal   bool      `json:"equal"`
	Changed *[]string `json:"changed,omitempty"` // names of bands by number; absent with --quick
}

func (o *compareOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	if len(args) == 1 {
		return status.Errorf(status.Usage, "compare: needs A and B").WithHint("bandclone compare -h")
	}
	rec, err := record.Input(ctx, stdio.In, len(args) == 2)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = make([]string, 2)
		if err := fromRecord(rec, &args[1], &args[0], nil); err != nil {
			return err
		}
	}
	found, err := o.compare(ctx, args[0], args[1])
	if err != nil {
		return err
	}
	if err := rec.Set("compare", found); err != nil {
		return err
	}
	return rec.Write(stdio.Out)
}

func (o *compareOptions) compare(ctx context.Context, pathA, pathB string) (*comparison, error) {
	a, err := readEither(pathA)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := readEither(pathB)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	differ, err := bands.Differ(ctx, a, b, o.quick)
	if err != nil {
		return nil, err
	}
	found := &comparison{Equal: len(differ) == 0}
	if !o.quick {
		names := make([]string, len(differ))
		for i, num := range differ {
			names[i] = bands.Name(num)
		}
		found.Changed = &names
	}
	return found, nil
}

// readEither reads a directory of bands or the bands of a bundle.
func readEither(path string) (*bands.Set, error) {
	d, err := dir.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, status.Errorf(status.NoCheckpoint, "no bands at %s", path)
	}
	if err != nil {
		return nil, err
	}
	below, err := d.Open(bandsName)
	if errors.Is(err, fs.ErrNotExist) {
		return bands.Read(d)
	}
	d.Close()
	if err != nil {
		return nil, err
	}
	return bands.Read(below)
}
