package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

func (a *app) createVerb() *command.Verb {
	var why reason
	var durable bool
	return &command.Verb{
		Name: "create", Args: "[MESSAGE]", Max: 1,
		Short: "create a checkpoint (about 20 ms)",
		Long: `
Saves all that has been written to the mount. Runs

  cpdb checkpoint begin | bundlectl quiesce -- bandclone create | cpdb checkpoint commit

It is safe from the death of any process then, and a moment later from a power cut:
--durable waits for that. The other flags tell who made the changes and why, for
timeline, blame and search.`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&durable, "durable", false, "wait until a power cut does not take it")
			why.flags(fs)
		},
		Run: func(ctx context.Context, _ command.IO, args []string) error {
			return a.create(ctx, why.told(), durable, args)
		},
	}
}

var (
	createLocked = fault.Define("agentfs.create.locked")
	createSaved  = fault.Define("agentfs.create.saved")
)

func (a *app) create(ctx context.Context, why record.Causality, durable bool, args []string) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	if err := a.hold(ctx, name); err != nil {
		return err
	}
	if err := createLocked.Reach(); err != nil {
		return err
	}
	began := time.Now()
	a.stage("Creating checkpoint...")
	s := saving{store: name, mounted: true, why: why}
	if len(args) > 0 {
		s.message = args[0]
	}
	rec, cp, err := a.saveReady(ctx, s)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("Created %s (%.0fms)", titled(cp), millis(began))
	if durable {
		if cp, err = a.waitDurable(ctx, name, cp); err != nil {
			a.followUp(rec, cp)
			return err
		}
		said += fmt.Sprintf(", durable (%.0fms)", millis(began))
	}
	err = a.done(createSaved, described(name, cp), said)
	a.sweepAfter(ctx, rec)
	a.followUp(rec, cp)
	return err
}

// saveReady saves at once, and asks only after a failure whether the store was
// ready and mounted: what is right nearly always must cost nothing.
func (a *app) saveReady(ctx context.Context, s saving) (*record.Record, record.Checkpoint, error) {
	rec, cp, err := a.save(ctx, s)
	if err == nil || ctx.Err() != nil || errors.As(err, new(notBegun)) {
		return rec, cp, err
	}
	_, st, lost := a.get(ctx, s.store)
	if lost != nil {
		return nil, cp, err
	}
	if st.Status == record.StoreReady {
		return nil, cp, a.notMounted(ctx, st, err)
	}
	if _, _, err := a.take(ctx, s.store); err != nil {
		return nil, cp, err
	}
	return a.save(ctx, s)
}
