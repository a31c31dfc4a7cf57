package main

import (
	"context"

	"agentfs.internal/tool/command"
)

type abortVerb struct {
	*app
	at
}

func checkpointAbort(a *app) *command.Verb {
	v := &abortVerb{app: a}
	return &command.Verb{
		Name:  "abort",
		Short: "end a checkpoint that is pending or deleting",
		Long: `The last step of deleting a checkpoint, and what becomes of one that failed. Any
other is refused: mark it first with rm. Its row goes, and its children become its
parent's, with changes that are to be found out anew. After rm --prune the row stays
as pruned: log, search, trace and change list still know it.

in:  checkpoint, unless --store and --version are given
out: the same, checkpoint as it was, or pruned`,
		Flags: v.flags,
		Run:   v.run,
	}
}

func (v *abortVerb) run(ctx context.Context, stdio command.IO, _ []string) error {
	told, err := v.told()
	if err != nil {
		return err
	}
	d, rec, err := v.openWithRecord(ctx, stdio, told)
	if err != nil {
		return err
	}
	defer d.Close()
	ref, err := v.checkpointRef(rec)
	if err != nil {
		return err
	}
	c, err := d.Abort(ctx, ref)
	if err != nil {
		return err
	}
	return write(stdio.Out, rec, "checkpoint", c)
}
