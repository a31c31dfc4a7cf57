package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

type rmVerb struct {
	*app
	store *string
	prune bool
}

func checkpointRm(a *app) *command.Verb {
	v := &rmVerb{app: a}
	return &command.Verb{
		Name:  "rm",
		Args:  "vN",
		Short: "mark a checkpoint as being deleted",
		Long: `The first step of deleting one: the row goes with abort, once the files are
gone. Whatever comes between, the checkpoint is no longer found. With --prune the
row stays then, as history: what it changed, and why it was made.

in:  nothing
out: store, checkpoint (deleting)`,
		Min: 1,
		Max: 1,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
			fs.BoolVar(&v.prune, "prune", false, "keep its history")
		},
		Run: v.run,
	}
}

func (v *rmVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	s, c, err := d.MarkDeleting(ctx, store, args[0], v.prune)
	if err != nil {
		return err
	}
	return write(stdio.Out, record.New(), "store", s, "checkpoint", c)
}
