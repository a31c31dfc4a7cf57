package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
)

type getVerb struct {
	*app
	store *string
	all   bool
}

func checkpointGet(a *app) *command.Verb {
	v := &getVerb{app: a}
	return &command.Verb{
		Name:  "get",
		Args:  "vN",
		Short: "find a checkpoint that is ready",
		Long:  doubtfulManual + "in:  nothing\nout: store, checkpoint, doubtful",
		Min:   1,
		Max:   1,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
			fs.BoolVar(&v.all, "all", false, "also one that is not ready")
		},
		Run: v.run,
	}
}

func (v *getVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	s, c, err := d.Checkpoint(ctx, store, args[0], v.all)
	if err != nil {
		return err
	}
	return writeDoubtful(ctx, stdio.Out, d, s, "checkpoint", c)
}
