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

	volatile bool
}

func checkpointList(a *app) *command.Verb {
	v := &listVerb{app: a}
	return &command.Verb{
		Name:  "list",
		Short: "list the checkpoints of a store that are ready, newest first",
		Long: `With --volatile, those that a power cut would take, oldest first; those that one may
have taken are the key doubtful of store get. Each comes with the
newest one before it that none can take, as its parent: what the two share is on the
disk already.

in:  nothing
out: one checkpoint a line; with --volatile checkpoint, parent (absent where there is none)`,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
			fs.IntVar(&v.limit, "limit", 0, "at most so many; 0: no limit")
			fs.BoolVar(&v.all, "all", false, "those that are pending, deleting or pruned, too")
			fs.BoolVar(&v.volatile, "volatile", false, "only those that are not durable yet, oldest first")
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
	if v.volatile {
		list, err := d.Volatile(ctx, store)
		if err != nil {
			return err
		}
		return writeLines(stdio.Out, list)
	}
	list, err := d.Checkpoints(ctx, store, v.all, v.limit)
	if err != nil {
		return err
	}
	return writeAll(stdio.Out, "checkpoint", list)
}
