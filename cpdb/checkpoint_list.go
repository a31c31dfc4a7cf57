package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
)

type listVerb struct {
	*app
	store *string
	limit int
	all   bool
}

func checkpointList(a *app) *command.Verb {
	v := &listVerb{app: a}
	return &command.Verb{
		Name:  "list",
		Short: "list the checkpoints of a store that are ready, newest first",
		Long:  "in:  nothing\nout: one checkpoint a line",
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
			fs.IntVar(&v.limit, "limit", 0, "at most so many; 0: no limit")
			fs.BoolVar(&v.all, "all", false, "those that are pending, deleting or pruned, too")
		},
		Run: v.run,
	}
}

func (v *listVerb) run(ctx context.Context, stdio command.IO, _ []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	if err := notNegative("limit", v.limit); err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	list, err := d.Checkpoints(ctx, store, v.all, v.limit)
	if err != nil {
		return err
	}
	return writeAll(stdio.Out, "checkpoint", list)
}
