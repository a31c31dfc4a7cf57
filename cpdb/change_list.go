package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
)

type changeListVerb struct {
	*app
	store *string
}

func changeList(a *app) *command.Verb {
	v := &changeListVerb{app: a}
	return &command.Verb{
		Name:  "list",
		Args:  "vN",
		Short: "list what a checkpoint changed: files by path, then directories",
		Long:  "Also of one that was pruned.\n\nin:  nothing\nout: one change a line",
		Min:   1,
		Max:   1,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
		},
		Run: v.run,
	}
}

func (v *changeListVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	list, err := d.Changes(ctx, store, args[0])
	if err != nil {
		return err
	}
	return writeLines(stdio.Out, list)
}
