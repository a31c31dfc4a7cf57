package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
)

type traceVerb struct {
	*app
	store, at *string
}

func trace(a *app) *command.Verb {
	v := &traceVerb{app: a}
	return &command.Verb{
		Name:  "trace",
		Args:  "-- PATH",
		Short: "list the checkpoints that changed one path, newest first",
		Long: `Goes from a checkpoint to its parent and so on, also where that is pruned or of
another store, under the names that the file had, to the one that added it. It ends
early at a checkpoint whose changes are not known: see change todo.

in:  nothing
out: checkpoint, author (as in log) and change, a line each`,
		Min: 1,
		Max: 1,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
			optional(fs, &v.at, "at", "begin with this checkpoint, as in `v4` (default: the one that the present came from)")
		},
		Run: v.run,
	}
}

func (v *traceVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	p, err := treePath(args[0])
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	list, err := d.Trace(ctx, store, v.at, p)
	if err != nil {
		return err
	}
	return writeLines(stdio.Out, list)
}
