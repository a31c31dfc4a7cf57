package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

type commitVerb struct {
	*app
	at
	clone record.Clone
}

func checkpointCommit(a *app) *command.Verb {
	v := &commitVerb{app: a}
	return &command.Verb{
		Name:  "commit",
		Short: "make a pending checkpoint ready",
		Long: `The checkpoint is durable when the record is out. It is the store's base then.

in:  checkpoint and clone, unless --store and --version are given
out: the same, checkpoint ready`,
		Flags: v.flags,
		Run:   v.run,
	}
}

func (v *commitVerb) flags(fs *flag.FlagSet) {
	v.at.flags(fs)
	fs.StringVar(&v.clone.Method, "method", "", "by hand: `how` the bands were cloned")
	fs.Int64Var(&v.clone.Bands, "bands", 0, "by hand: the `number` of bands")
	fs.Int64Var(&v.clone.Bytes, "bytes", 0, "by hand: the `sum` of their lengths")
	fs.Int64Var(&v.clone.ChangedBands, "changed-bands", 0, "by hand: the `number` of them not shared with the parent")
}

// run does as much as it can before it waits for its record: all stages of a
// pipeline start at once, and this one's end is what the user waits for.
func (v *commitVerb) run(ctx context.Context, stdio command.IO, _ []string) error {
	told, err := v.told()
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Warm(); err != nil {
		return err
	}
	rec, err := record.Input(ctx, stdio.In, told)
	if err != nil {
		return err
	}
	clone, err := v.cloned(rec)
	if err != nil {
		return err
	}
	ref, err := v.checkpointRef(rec)
	if err != nil {
		return err
	}
	c, err := d.Commit(ctx, ref, clone)
	if err != nil {
		return err
	}
	return write(stdio.Out, rec, "checkpoint", c)
}

// cloned gives what bandclone says it made, or what the flags say by hand.
func (v *commitVerb) cloned(rec *record.Record) (clone record.Clone, err error) {
	if v.store != nil {
		return v.clone, nil
	}
	if err := rec.Get("clone", &clone); err != nil {
		return clone, err
	}
	if clone.Method == "" {
		return clone, missing("clone", "method")
	}
	return clone, nil
}
