package main

import (
	"context"
	"flag"
	"io"
	"strconv"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

type changeAddVerb struct {
	*app
	store *string
	lost  bool
	db.Indexed
}

func changeAdd(a *app) *command.Verb {
	v := &changeAddVerb{app: a}
	return &command.Verb{
		Name:  "add",
		Args:  "vN",
		Short: "keep what a checkpoint changed",
		Long: `Replaces what was known before. Nothing is known until all of it is written: one
that is killed has to be done again. With --parent-id it is refused if the checkpoint
has been given another parent since the comparison began, as a delete does.

in:  one change a line, against the checkpoint's parent, to the end of the input;
     nothing with --lost
out: checkpoint`,
		Min: 1,
		Max: 1,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
			fs.BoolVar(&v.lost, "lost", false, "it cannot be found out")
			fs.Func("parent-id", "the `row` that it was compared with, 0 for none", v.setParent)
		},
		Run: v.run,
	}
}

func (v *changeAddVerb) setParent(s string) error {
	id, err := strconv.ParseInt(s, 10, 64)
	v.Parent = &id
	return err
}

func (v *changeAddVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	v.Store, v.Version, v.State = store, args[0], record.IndexLost
	if !v.lost {
		v.State = record.IndexDone
		if v.Changes, err = readChanges(ctx, stdio.In); err != nil {
			return err
		}
	}
	c, err := d.Index(ctx, v.Indexed)
	if err != nil {
		return err
	}
	return write(stdio.Out, record.New(), "checkpoint", c)
}

// readChanges reads all before the first is written, so that a bad one changes
// nothing and no lock is held while the rest is on its way.
func readChanges(ctx context.Context, in io.Reader) ([]record.Change, error) {
	recs, err := record.InputAll(ctx, in)
	if err != nil {
		return nil, err
	}
	list := make([]record.Change, len(recs))
	for i, rec := range recs {
		if err := rec.Get("change", &list[i]); err != nil {
			return nil, err
		}
		if err := db.ValidChange(list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}
