package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

type checkVerb struct {
	*app
	store string
}

func check(a *app) *command.Verb {
	v := &checkVerb{app: a}
	return &command.Verb{
		Name:  "check",
		Short: "look for damage, leftovers and losses",
		Long: `Compares the database with itself and with the directories that it tells of. It
changes nothing. The kinds of problems:

  corrupt   SQLite finds the file damaged
  leftover  one that is neither ready nor pruned: its command runs or has died
  missing   a ready one whose files are gone
  orphan    a directory without a row
  version   the next version is one that was used

in:  nothing
out: one problem a line; exit status 1 if there are any`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&v.store, "store", "", "check only the store of this `name`")
		},
		Run: v.run,
	}
}

func (v *checkVerb) run(ctx context.Context, stdio command.IO, _ []string) error {
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	list, err := d.Check(ctx, v.store)
	if err != nil {
		return err
	}
	if err := writeAll(stdio.Out, "problem", list); err != nil {
		return err
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return status.Errorf(status.General, "check: 1 problem")
	}
	return status.Errorf(status.General, "check: %d problems", len(list))
}
