package main

import (
	"cmp"
	"context"
	"flag"
	"slices"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

type addVerb struct {
	*app
	store *string
}

func checkpointAdd(a *app) *command.Verb {
	v := &addVerb{app: a}
	return &command.Verb{
		Name:  "add",
		Short: "make the rows of checkpoints that came from elsewhere",
		Long: `The store must be creating, and the checkpoints complete and durable beside its
bundle. They keep versions, messages, times, pins and why they were made; what they
changed is to be found out anew. All of them are added, or none.

in:  one checkpoint a line, with clone where that has just been made, to the end
out: store, checkpoint as it is then, one a line`,
		Flags: func(fs *flag.FlagSet) { optional(fs, &v.store, "store", "`name` of the store") },
		Run:   v.run,
	}
}

func (v *addVerb) run(ctx context.Context, stdio command.IO, _ []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	recs, err := record.InputAll(ctx, stdio.In)
	if err != nil {
		return err
	}
	list, err := brought(recs)
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.AddCheckpoints(ctx, db.Ref{Name: store}, list); err != nil {
		return err
	}
	s, err := d.Store(ctx, db.Ref{Name: store})
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := write(stdio.Out, record.New(), "store", s, "checkpoint", c); err != nil {
			return err
		}
	}
	return nil
}

// brought gives the checkpoints of a list, by version.
func brought(recs []*record.Record) ([]*record.Checkpoint, error) {
	list := make([]*record.Checkpoint, len(recs))
	for i, rec := range recs {
		c := &record.Checkpoint{}
		if err := rec.Get("checkpoint", c); err != nil {
			return nil, err
		}
		if c.Version < 1 {
			return nil, missing("checkpoint", "version")
		}
		if rec.Has("clone") {
			var made record.Clone
			if err := rec.Get("clone", &made); err != nil {
				return nil, err
			}
			c.Method, c.Bands, c.Bytes, c.ChangedBands = made.Method, made.Bands, made.Bytes, made.ChangedBands
		}
		list[i] = c
	}
	slices.SortFunc(list, func(x, y *record.Checkpoint) int { return cmp.Compare(x.Version, y.Version) })
	for i := range list[:max(0, len(list)-1)] {
		if list[i].Version == list[i+1].Version {
			return nil, status.Errorf(status.General, "checkpoint v%d comes twice", list[i].Version)
		}
	}
	return list, nil
}
