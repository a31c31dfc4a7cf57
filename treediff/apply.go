package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/treediff/internal/restore"
)

type applyOptions struct {
	*pairOptions
	progress bool
}

func applyVerb(pair *pairOptions) *command.Verb {
	o := &applyOptions{pairOptions: pair}
	return &command.Verb{
		Name:  "apply",
		Args:  "A B [-- PATH…]",
		Short: "make B like A, in place",
		Long: `
Only what differs is touched; with PATHs, only these and what is below them, and
directories that B lacks above them. A file with other content is made aside, under
a name like .treediff-0123abcd, and renamed into place; where only metadata differ
the file stays the one that it is. When it returns all is on the disk.

What only B has is deleted. If something is mounted in it nothing is changed, and
the status is 5. Killed at any moment it can be run again, and finishes.

in: nothing; out: applied`,
		Min: 2, Max: -1,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&o.progress, "progress", false, "show progress also where standard error is no terminal")
		},
		Run: o.run,
	}
}

func (o *applyOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	if err := o.verb("apply"); err != nil {
		return err
	}
	pair, err := o.open(args)
	if err != nil {
		return err
	}
	defer closePair(pair)
	start := time.Now()
	r := &restore.Restore{Pair: pair}
	stop := showProgress(stdio.Err, o.progress, func() string {
		if r.Total.Load() == 0 {
			return ""
		}
		return fmt.Sprintf("Restoring files... %d of %d", r.Done.Load(), r.Total.Load())
	})
	err = r.Run(ctx)
	stop()
	if err != nil {
		return err
	}
	tellMounts(stdio.Err, r.Mounts)
	rec := record.New()
	if err := rec.Set("applied", record.Applied{
		Added: r.Added, Modified: r.Modified, Deleted: r.Deleted, Metadata: r.Metadata,
		Bytes: r.Bytes.Load(), DurationMS: float64(time.Since(start).Microseconds()) / 1000,
	}); err != nil {
		return err
	}
	return rec.Write(stdio.Out)
}
