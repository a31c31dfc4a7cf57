package main

import (
	"context"
	"flag"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

type storeGetVerb struct {
	*app
	mount *string
}

func storeGet(a *app) *command.Verb {
	v := &storeGetVerb{app: a}
	return &command.Verb{
		Name:  "get",
		Args:  "NAME",
		Short: "find a store by its name or by its mount path",
		Long:  "in:  nothing\nout: store",
		Max:   1,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.mount, "mount", "`path` where the store is, or will be, mounted")
		},
		Run: v.run,
	}
}

func (v *storeGetVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	if (len(args) == 1) == (v.mount != nil) {
		return status.Errorf(status.Usage, "store get: needs a NAME or --mount PATH, one of them")
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	s, err := v.find(ctx, d, args)
	if err != nil {
		return err
	}
	return write(stdio.Out, record.New(), "store", s)
}

func (v *storeGetVerb) find(ctx context.Context, d *db.DB, args []string) (*record.Store, error) {
	if v.mount == nil {
		return d.Store(ctx, db.Ref{Name: args[0]})
	}
	path, err := absolute(*v.mount)
	if err != nil {
		return nil, err
	}
	return d.StoreByMount(ctx, path)
}
