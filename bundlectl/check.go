package main

import (
	"context"
	"errors"
	"flag"
	"path/filepath"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func checkVerb() *command.Verb {
	repair := false
	return &command.Verb{
		Name: "check", Args: "[BUNDLE…]", Max: -1,
		Short: "look for what keeps bundles from being used",
		Long: `
The kinds of problems:

  machine   it lacks what is needed
  bundle    its Info.plist or the copy of that is damaged, or a live band too long
  dead      it is mounted, and its band server is dead
  hang      its band server does not answer
  leftover  a dead server's socket or log

--repair takes Info.plist from its copy or the other way round, removes what is left
over, ends a server that hangs, and mounts anew what nobody serves.

In: nothing. Out: one "problem" a line, with "hint" and "repaired"; status 1 if any is
left.`,
		Flags: func(fs *flag.FlagSet) { fs.BoolVar(&repair, "repair", false, "repair what can be repaired") },
		Run: func(ctx context.Context, stdio command.IO, args []string) error {
			return check(ctx, stdio, args, repair)
		},
	}
}

func check(ctx context.Context, stdio command.IO, bundles []string, repair bool) (err error) {
	for i := range bundles {
		if bundles[i], err = filepath.Abs(bundles[i]); err != nil {
			return err
		}
	}
	left := 0
	for _, p := range selectEngine().Problems(ctx, bundles, repair) {
		if !p.Repaired {
			left++
		}
		rec := record.New()
		err := errors.Join(rec.Set("problem", p.Problem), rec.Set("hint", p.Hint), rec.Set("repaired", p.Repaired), rec.Write(stdio.Out))
		if err != nil {
			return err
		}
	}
	switch left {
	case 0:
		return nil
	case 1:
		return status.Errorf(status.General, "check: 1 problem")
	}
	return status.Errorf(status.General, "check: %d problems", left)
}
