package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	copyStaged  = fault.Define("bandclone.copy.staged")  // a temporary directory, empty
	copyCopied  = fault.Define("bandclone.copy.copied")  // all bands in it
	copySynced  = fault.Define("bandclone.copy.synced")  // and what tells of them, durable
	copyRenamed = fault.Define("bandclone.copy.renamed") // under its name
	copyNoted   = fault.Define("bandclone.copy.noted")   // record.json of one that was there is new
)

type copyOptions struct {
	to       string
	progress bool
}

func copyVerb() *command.Verb {
	o := &copyOptions{}
	return &command.Verb{
		Name:  "copy",
		Short: "copy checkpoints to another filesystem, what has changed of each",
		Long: `
Each checkpoint of the list that the directory --to lacks appears there, under the
name of its version, complete and durable, by one rename. A band that is the same as in
one of the two that it may share with, its parent and the next lower version, is a hard
link to that, where there are any; the others are copied, with their holes. All are
written down in SHA256SUMS.

A band that is not what SHA256SUMS beside it says is damage: it is named, its checkpoint
is left out, the others are copied, and the status is 1. So is a checkpoint with fewer
bands than record.json tells. One that is deleted meanwhile is left out.

Of one that is there already record.json is made what the record says.

in: checkpoint, perhaps store, a line to the end; out: the same, those that were
copied, with checkpoint.dir as it is now, + copied`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.to, "to", "", "the `DIR` to copy to; it is made where it is missing")
			fs.BoolVar(&o.progress, "progress", false, "show progress also where standard error is no terminal")
		},
		Run: o.run,
	}
}

// errDamaged says that a checkpoint is not as it was made.
var errDamaged = errors.New("is damaged")

func (o *copyOptions) run(ctx context.Context, stdio command.IO, _ []string) error {
	if o.to == "" {
		return status.Errorf(status.Usage, "copy: needs --to DIR").WithHint("bandclone copy -h")
	}
	list, err := copyList(ctx, stdio)
	if err != nil {
		return err
	}
	if o.to, err = filepath.Abs(o.to); err != nil {
		return err
	}
	if err := os.Mkdir(o.to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	to, err := dir.Open(o.to)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := stage.Sweep(to, ".", leftovers); err != nil {
		return err
	}
	shown := startProgress(stdio.Err, o.progress, "Copying checkpoints...")
	defer shown.stop()
	var damaged []error
	for _, c := range list {
		c.to, c.shown = to, shown
		err := c.run(ctx)
		switch {
		case errors.Is(err, errDamaged):
			damaged = append(damaged, err)
		case status.Of(err) == status.NoCheckpoint: // deleted meanwhile
		case err != nil:
			return fmt.Errorf("%s: %w", c.name(), err)
		case c.rec.Has("copied"):
			if err := c.rec.Write(stdio.Out); err != nil {
				return err
			}
		}
	}
	// A disk that is carried around may have no symbolic links.
	if err := stage.Repoint(to); err != nil && !dir.Cannot(err) {
		return err
	}
	return errors.Join(errors.Join(damaged...), to.Sync())
}

// copyList reads what is to be copied, and sorts it by version.
func copyList(ctx context.Context, stdio command.IO) (list []*copying, err error) {
	recs, err := record.InputAll(ctx, stdio.In)
	if err != nil {
		return nil, err
	}
	for _, rec := range recs {
		c := &copying{rec: rec}
		if err := rec.Get("checkpoint", &c.Checkpoint); err != nil {
			return nil, err
		}
		if c.Dir == "" || c.Version < 1 {
			return nil, status.Errorf(status.General, `record has no "checkpoint.dir" or no "checkpoint.version"`)
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y *copying) int { return cmp.Compare(x.Version, y.Version) })
	return list, nil
}
