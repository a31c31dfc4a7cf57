package main

import (
	"context"
	"flag"
	"io"

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
		Long:  doubtfulManual + "in:  nothing\nout: store, doubtful",
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
	return writeDoubtful(ctx, stdio.Out, d, s)
}

const doubtfulManual = `Doubtful are the checkpoints that were not durable when the machine stopped; the key
is absent where there are none.

`

// writeDoubtful writes the store, with those of its checkpoints that are doubtful, and
// more.
func writeDoubtful(ctx context.Context, w io.Writer, d *db.DB, s *record.Store, more ...any) error {
	list, err := d.Doubtful(ctx, s)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		more = append(more, "doubtful", list)
	}
	return write(w, record.New(), append([]any{"store", s}, more...)...)
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
