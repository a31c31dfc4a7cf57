package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"time"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	restoreCloned   = fault.Define("bandclone.restore.cloned")   // a clone under a temporary name
	restorePrepared = fault.Define("bandclone.restore.prepared") // under the name that says: not swapped
	restoreSwapped  = fault.Define("bandclone.restore.swapped")  // in place, the old bands beside it
)

type restoreOptions struct {
	bundle, from, method string
	finish, undo         bool
}

func restoreVerb() *command.Verb {
	o := &restoreOptions{}
	return &command.Verb{
		Name:  "restore",
		Short: "swap a clone of a checkpoint in as the live bands",
		Long: `
The image must be detached. The old bands stay beside the new ones until
"restore --finish" deletes them or "restore --undo" swaps them back. Both may
be repeated, work after a crash at any step, and do nothing where there is
nothing to do. A checkpoint that holds anything but bands, record.json and
SHA256SUMS is refused; these two stay where they are.

in: store, checkpoint (--finish, --undo: store); out: + clone (the same)`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.bundle, "bundle", "", "`BUNDLE` whose bands to replace")
			fs.StringVar(&o.from, "from", "", "`DIR` of the checkpoint")
			fs.StringVar(&o.method, "method", "", "clone by this `METHOD` only: link, clonefile, reflink or copy")
			fs.BoolVar(&o.finish, "finish", false, "delete the bands that the last restore has replaced")
			fs.BoolVar(&o.undo, "undo", false, "swap back the bands that the last restore has replaced")
		},
		Run: o.run,
	}
}

func (o *restoreOptions) run(ctx context.Context, stdio command.IO, _ []string) error {
	ending := o.finish || o.undo
	if o.finish && o.undo || ending && (o.from != "" || o.method != "") {
		return status.Errorf(status.Usage, "restore: --finish and --undo each stand alone").WithHint("bandclone restore -h")
	}
	told := o.bundle != "" && (ending || o.from != "")
	rec, err := record.Input(ctx, stdio.In, told)
	if err != nil {
		return err
	}
	from := &o.from
	if ending {
		from = nil
	}
	if !told {
		if err := fromRecord(rec, &o.bundle, from, nil); err != nil {
			return err
		}
	}
	bundle, err := dir.Open(o.bundle)
	if err != nil {
		return err
	}
	defer bundle.Close()
	if ending {
		err = endRestore(bundle, o.undo)
	} else {
		err = o.restore(ctx, bundle, rec)
	}
	if err != nil {
		return err
	}
	return rec.Write(stdio.Out)
}

// restore swaps the checkpoint in.
func (o *restoreOptions) restore(ctx context.Context, bundle *dir.Dir, rec *record.Record) error {
	start := time.Now()
	ways, err := methods(o.method)
	if err != nil {
		return err
	}
	saved, err := openCheckpoint(o.from)
	if err != nil {
		return err
	}
	defer saved.Close()
	if err := idle(bundle); err != nil {
		return err
	}
	live, err := openBands(bundle)
	if err != nil {
		return err
	}
	defer live.Close()
	c, err := newClone(bundle, bandsName, saved.Dir, ways, bands.LiveMode)
	if err != nil {
		return cannot(err, o.method)
	}
	defer c.stage.Discard()
	if err := c.all(ctx, saved); err != nil {
		return cannot(err, o.method)
	}
	if err := restoreCloned.Reach(); err != nil {
		return err
	}
	before, err := bands.Read(live)
	if err != nil {
		return err
	}
	changed, err := c.changed(before)
	if err != nil {
		return err
	}
	if err := swapIn(bundle, c); err != nil {
		return err
	}
	return rec.Set("clone", c.record(changed, time.Since(start)))
}

// openCheckpoint reads a checkpoint, and refuses what cannot be one: it is about
// to become the only bands there are.
func openCheckpoint(path string) (*bands.Set, error) {
	d, err := dir.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, status.Errorf(status.NoCheckpoint, "no checkpoint at %s", path)
	}
	if err != nil {
		return nil, err
	}
	set, err := bands.Read(d)
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a checkpoint: %w", err)
	case len(set.Strays) > 0:
		return nil, status.Errorf(status.General, "not a checkpoint: %s is not a band", d.Path(set.Strays[0]))
	case len(set.Bands) == 0:
		return nil, status.Errorf(status.General, "not a checkpoint: %s holds no bands", d.Path(""))
	}
	return set, nil
}

// idle refuses a bundle with an unfinished restore, and cleans one without.
func idle(bundle *dir.Dir) error {
	s, err := readSwap(bundle)
	if err != nil {
		return err
	}
	if s.pending() {
		return status.Errorf(status.General, "%s: a restore is not finished", bundle.Path("")).
			WithHint("bandclone restore --finish --bundle %[1]s, or --undo to have the old bands back", bundle.Path(""))
	}
	return sweepBundle(bundle)
}

// swapIn makes a complete clone the bands of the bundle, durably at each step.
func swapIn(bundle *dir.Dir, c *clone) error {
	if err := c.sync(); err != nil {
		return err
	}
	self, err := c.stage.Self()
	if err != nil {
		return err
	}
	s := &swap{bundle: bundle, number: fmt.Sprint(self.Ino)}
	if err := c.stage.Publish(s.name()); err != nil {
		return err
	}
	if err := bundle.Sync(); err != nil {
		return err
	}
	if err := restorePrepared.Reach(); err != nil {
		return err
	}
	if err := s.exchange(); err != nil {
		return err
	}
	return restoreSwapped.Reach()
}
