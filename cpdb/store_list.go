package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
)

type storeListVerb struct {
	*app
	all bool
}

func storeList(a *app) *command.Verb {
	v := &storeListVerb{app: a}
	return &command.Verb{
		Name:  "list",
		Short: "list the stores that are ready, by name",
		Long:  "in:  nothing\nout: one store a line",
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&v.all, "all", false, "those that are not ready, too")
		},
		Run: v.run,
	}
}

func (v *storeListVerb) run(ctx context.Context, stdio command.IO, _ []string) error {
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	list, err := d.Stores(ctx, v.all)
	if err != nil {
		return err
	}
	return writeAll(stdio.Out, "store", list)
}
