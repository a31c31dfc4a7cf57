package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"slices"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/damage"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/sums"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	syncBands = fault.Define("bandclone.sync.bands") // the bands are on the disk
	syncNamed = fault.Define("bandclone.sync.named") // and their names
)

type syncOptions struct {
	parent string
	check  bool
}

func syncVerb() *command.Verb {
	o := &syncOptions{}
	return &command.Verb{
		Name: "sync", Args: "[DIR…]", Max: -1,
		Short: "make checkpoints durable",
		Long: `
When it has ended, a power cut does not take the checkpoints: their bands, record.json
and all names are on the disk. A band that the parent has too is not asked for; the
parent must be durable itself. In a record it is the key "parent". One that has been
deleted meanwhile is left out.

--check, after the machine has stopped, looks first whether the checkpoint is whole:
as many bands as record.json and the record tell, as many bytes, as many bands that its
parent has not, and the bands as SHA256SUMS has them, where it is there. One that is torn,
or gone, is an error (4).

in: one checkpoint, parent a line, to the end; out: the same, those that are durable`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.parent, "parent", "", "`DIR` of a durable checkpoint: what it has is on the disk")
			fs.BoolVar(&o.check, "check", false, "refuse a checkpoint that is not whole")
		},
		Run: o.run,
	}
}

// syncing is a checkpoint that is to be made durable.
type syncing struct {
	record.Checkpoint
	parent string         // the directory of a durable one, "" for none
	rec    *record.Record // nil where arguments tell
}

func (o *syncOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	list, err := o.list(ctx, stdio, args)
	if err != nil {
		return err
	}
	flushed := bands.Flushed{}
	for _, s := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := o.sync(ctx, s, flushed)
		switch {
		case status.Of(err) == status.NoCheckpoint: // torn
		case errors.Is(err, fs.ErrNotExist) && s.rec != nil && !o.check:
			continue // it has been deleted
		case errors.Is(err, fs.ErrNotExist):
			err = gone(s.Dir, true)
		case err == nil && s.rec != nil:
			err = s.rec.Write(stdio.Out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list gives what is to be synced.
func (o *syncOptions) list(ctx context.Context, stdio command.IO, args []string) (list []syncing, err error) {
	for _, path := range args {
		list = append(list, syncing{Checkpoint: record.Checkpoint{Dir: path}, parent: o.parent})
	}
	if len(args) > 0 {
		return list, nil
	}
	recs, err := record.InputAll(ctx, stdio.In)
	if err != nil {
		return nil, err
	}
	for _, rec := range recs {
		s := syncing{parent: o.parent, rec: rec}
		if err := rec.Get("checkpoint", &s.Checkpoint); err != nil {
			return nil, err
		}
		if s.Dir == "" {
			return nil, status.Errorf(status.General, `record has no "checkpoint.dir"`)
		}
		if s.parent == "" && rec.Has("parent") {
			var parent record.Checkpoint
			if err := rec.Get("parent", &parent); err != nil {
				return nil, err
			}
			s.parent = parent.Dir
		}
		list = append(list, s)
	}
	return list, nil
}

// sync makes one checkpoint durable.
func (o *syncOptions) sync(ctx context.Context, s syncing, flushed bands.Flushed) error {
	if err := addFlushed(s.parent, flushed); err != nil {
		return err
	}
	beside, name, err := split(s.Dir)
	if err != nil {
		return err
	}
	defer beside.Close()
	set, err := read(beside.Open(name))
	if err != nil {
		return err
	}
	defer set.Close()
	d := set.Dir
	if o.check {
		if err := whole(s.Checkpoint, set, beside); err != nil {
			return err
		}
		if err := asSummed(ctx, s.Dir, set); err != nil {
			return err
		}
	}
	if err := flushed.Sync(d, set); err != nil {
		return err
	}
	if err := syncBands.Reach(); err != nil {
		return err
	}
	if slices.Contains(set.Notes, record.CheckpointFile) {
		err = bands.SyncFile(d, record.CheckpointFile)
	}
	if err == nil {
		err = d.Sync()
	}
	if err == nil {
		err = beside.Sync()
	}
	if err != nil {
		return err
	}
	return syncNamed.Reach()
}

// addFlushed notes what the durable checkpoint at path has. One that is gone tells
// nothing.
func addFlushed(path string, flushed bands.Flushed) error {
	if path == "" {
		return nil
	}
	set, err := read(dir.Open(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer set.Close()
	flushed.Add(set)
	return nil
}

// read reads a directory of bands that was opened just now.
func read(d *dir.Dir, err error) (*bands.Set, error) {
	if err != nil {
		return nil, err
	}
	set, err := bands.Read(d)
	if err != nil {
		d.Close()
		return nil, err
	}
	return set, nil
}

// whole refuses a checkpoint that is not what its record, and record.json in it, say.
func whole(cp record.Checkpoint, set *bands.Set, beside *dir.Dir) error {
	note, err := damage.ReadNote(set.Dir)
	if err != nil {
		return torn(cp.Dir, err)
	}
	var have int64
	for _, b := range set.Bands {
		info, err := set.Dir.Stat(b.Name())
		if err != nil {
			return err
		}
		have += info.Size
	}
	for _, told := range []record.Checkpoint{cp, *note} {
		switch {
		case int64(len(set.Bands)) != told.Bands:
			return torn(cp.Dir, fmt.Errorf("%d bands of %d", len(set.Bands), told.Bands))
		case have != told.Bytes:
			return torn(cp.Dir, fmt.Errorf("%d bytes of %d", have, told.Bytes))
		}
	}
	return newer(cp.Dir, *note, set, beside)
}

// newer refuses a checkpoint in which a band is still the parent's where it should be
// another: the directory began with links to all of these, and a host that does not
// write names in their order may have written the directory's own before the later
// ones in it.
func newer(path string, cp record.Checkpoint, set *bands.Set, beside *dir.Dir) error {
	if cp.Method != string(bands.Link) || cp.Parent == 0 {
		return nil
	}
	parent, err := read(beside.Open(fmt.Sprintf("v%d", cp.Parent)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was deleted
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	changed, err := bands.Changed(set, parent, func(uint64) bool { return true })
	if err == nil && changed < cp.ChangedBands {
		err = torn(path, fmt.Errorf("%d bands of its own of %d", changed, cp.ChangedBands))
	}
	return err
}

// asSummed refuses a checkpoint whose bands are not what their sums say, where these were
// on the disk before the machine stopped. Sums that are torn themselves tell nothing.
func asSummed(ctx context.Context, path string, set *bands.Set) error {
	list, err := sums.Read(set.Dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, sums.ErrDamaged) {
		return nil
	}
	if err != nil {
		return err
	}
	return sums.Parallel(ctx, len(set.Bands), false, func(ctx context.Context, i int) error {
		b := set.Bands[i]
		want, told := list[b.Num]
		if !told {
			return nil
		}
		sum, _, err := sums.Of(ctx, set.Dir, b.Name())
		if err == nil && sum != want {
			err = torn(path, fmt.Errorf("band %s has another sum", b.Name()))
		}
		return err
	})
}

func torn(path string, why error) error {
	return status.Errorf(status.NoCheckpoint, "%s is torn: %w", path, why)
}
