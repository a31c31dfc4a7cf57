package main

import (
	"context"
	"flag"
	"strconv"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

type setVerb struct {
	*app
	store  *string
	pinned *bool
}

func checkpointSet(a *app) *command.Verb {
	v := &setVerb{app: a}
	return &command.Verb{
		Name:  "set",
		Args:  "vN",
		Short: "change what is known of a checkpoint that is ready",
		Long:  "in:  nothing\nout: store, checkpoint as it is then",
		Min:   1,
		Max:   1,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
			fs.BoolFunc("pinned", "never to be pruned; =false: may be pruned", func(s string) error {
				pinned, err := strconv.ParseBool(s)
				v.pinned = &pinned
				return err
			})
		},
		Run: v.run,
	}
}

func (v *setVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	if v.pinned == nil {
		return status.Errorf(status.Usage, "checkpoint set: nothing to set").WithHint("cpdb checkpoint set -h")
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	s, c, err := d.SetPinned(ctx, store, args[0], *v.pinned)
	if err != nil {
		return err
	}
	return write(stdio.Out, record.New(), "store", s, "checkpoint", c)
}
