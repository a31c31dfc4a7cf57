package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
)

type todoVerb struct {
	*app
	store *string
}

func changeTodo(a *app) *command.Verb {
	v := &todoVerb{app: a}
	return &command.Verb{
		Name:  "todo",
		Short: "list the checkpoints whose changes are not known, oldest first",
		Long: `Only ready ones are listed. There is no "parent" where a checkpoint came from
nothing, or from one that is not known any more; that of a fork is in another store.

in:  nothing
out: store, checkpoint and parent, a line each`,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
		},
		Run: v.run,
	}
}

func (v *todoVerb) run(ctx context.Context, stdio command.IO, _ []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	list, err := d.Unindexed(ctx, store)
	if err != nil {
		return err
	}
	return writeLines(stdio.Out, list)
}
