package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

type beginVerb struct {
	*app
	store   *string
	message string
}

func checkpointBegin(a *app) *command.Verb {
	v := &beginVerb{app: a}
	return &command.Verb{
		Name:  "begin",
		Short: "allot the next version to a pending checkpoint",
		Long: `The store must be ready. The version is never allotted again, whatever becomes
of the checkpoint. Leftovers are older checkpoints that are not ready: whoever
holds the store's lock may remove their files and abort them.

in:  nothing
out: store, checkpoint (pending), leftovers`,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
			fs.StringVar(&v.message, "message", "", "`text` that says what is saved")
		},
		Run: v.run,
	}
}

func (v *beginVerb) run(ctx context.Context, stdio command.IO, _ []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	b, err := d.Begin(ctx, store, v.message)
	if err != nil {
		return err
	}
	return write(stdio.Out, record.New(), "store", b.Store, "checkpoint", b.Checkpoint, "leftovers", b.Leftovers)
}
