package main

import (
	"context"

	"agentfs.internal/tool/command"
)

type storeRmVerb struct{ *app }

func storeRm(a *app) *command.Verb {
	v := &storeRmVerb{app: a}
	return &command.Verb{
		Name:  "rm",
		Args:  "[NAME]",
		Short: "remove the rows of a store and its checkpoints",
		Long: `Removes no files but store.json.

in:  store, unless NAME is given
out: store as it was`,
		Max: 1,
		Run: v.run,
	}
}

func (v *storeRmVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	d, rec, err := v.openWithRecord(ctx, stdio, len(args) > 0)
	if err != nil {
		return err
	}
	defer d.Close()
	ref, err := storeRef(args, rec)
	if err != nil {
		return err
	}
	s, err := d.Remove(ctx, ref)
	if err != nil {
		return err
	}
	return write(stdio.Out, rec, "store", s)
}
