package main

import (
	"context"
	"flag"
	"fmt"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
)

func rebuild(a *app) *command.Verb {
	var force bool
	return &command.Verb{
		Name:  "rebuild",
		Short: "make the database anew, from the files beside stores and checkpoints",
		Long: `For a database that is damaged or gone. Reads store.json in each directory of
HOME/stores and record.json of each checkpoint; a checkpoint without one is taken as
"(recovered)". The old database is kept under another name. One that is sound is refused.

What survives: stores, checkpoints and their versions, messages, times, who made them
and why, what they came from, which ones are pinned. What checkpoints changed is to be
listed again, and what was known of pruned ones is lost. No agentfs command should run.

in:  nothing
out: one store a line`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&force, "force", false, "even if the database is sound")
		},
		Run: func(ctx context.Context, stdio command.IO, _ []string) error {
			home, err := a.dir()
			if err != nil {
				return err
			}
			stores, err := db.Rebuild(ctx, home, force, func(format string, args ...any) {
				fmt.Fprintf(stdio.Err, "cpdb: rebuild: "+format+"\n", args...)
			})
			if err != nil {
				return err
			}
			return writeAll(stdio.Out, "store", stores)
		},
	}
}
