package main

import (
	"context"
	"flag"
	"strconv"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

type setVerb struct {
	*app
	store   *string
	pinned  *bool
	durable bool
}

func checkpointSet(a *app) *command.Verb {
	v := &setVerb{app: a}
	return &command.Verb{
		Name:  "set",
		Args:  "[vN]",
		Short: "change what is known of a checkpoint that is ready",
		Long: `Without vN, --durable reads a list. What has been deleted meanwhile is left out.

in:  nothing; without vN one checkpoint a line, to the end
out: store, checkpoint as it is then; without vN one checkpoint a line`,
		Max:   1,
		Flags: v.flags,
		Run:   v.run,
	}
}

func (v *setVerb) flags(fs *flag.FlagSet) {
	optional(fs, &v.store, "store", "`name` of the store")
	fs.BoolFunc("pinned", "never to be pruned; =false: may be pruned", func(s string) error {
		pinned, err := strconv.ParseBool(s)
		v.pinned = &pinned
		return err
	})
	fs.BoolVar(&v.durable, "durable", false, "it outlives a power cut now")
}

func (v *setVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	switch {
	case v.pinned == nil && !v.durable:
		return status.Errorf(status.Usage, "checkpoint set: nothing to set").WithHint("cpdb checkpoint set -h")
	case len(args) == 0 && (v.pinned != nil || v.store != nil):
		return status.Errorf(status.Usage, "checkpoint set: needs vN").WithHint("cpdb checkpoint set -h")
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	if len(args) == 0 {
		return v.noteAll(ctx, stdio, d)
	}
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	if v.durable {
		if _, err := d.SetDurable(ctx, db.At{Store: store, Version: args[0]}); err != nil {
			return err
		}
	}
	if v.pinned != nil {
		if err := d.SetPinned(ctx, store, args[0], *v.pinned); err != nil {
			return err
		}
	}
	s, c, err := d.Checkpoint(ctx, store, args[0], false)
	if err != nil {
		return err
	}
	return write(stdio.Out, record.New(), "store", s, "checkpoint", c)
}

// noteAll notes of each checkpoint on standard input that it is durable. They are read
// to the end: of a list that was cut short, what has come is true all the same.
func (v *setVerb) noteAll(ctx context.Context, stdio command.IO, d *db.DB) error {
	list, err := record.InputAll(ctx, stdio.In)
	if err != nil {
		return err
	}
	for _, rec := range list {
		ref, err := at{}.checkpointRef(rec)
		if err != nil {
			return err
		}
		c, err := d.SetDurable(ctx, ref)
		if status.Of(err) == status.NoCheckpoint {
			continue
		}
		if err == nil {
			err = write(stdio.Out, record.New(), "checkpoint", c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
