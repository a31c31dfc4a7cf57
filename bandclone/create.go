package main

import (
	"context"
	"flag"
	"io"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

var (
	createStaged  = fault.Define("bandclone.create.staged")  // temporary directory made, unchanged bands linked
	createCloned  = fault.Define("bandclone.create.linked")  // all bands in it
	createSynced  = fault.Define("bandclone.create.synced")  // and durable
	createRenamed = fault.Define("bandclone.create.renamed") // under its name
	createLatest  = fault.Define("bandclone.create.latest")  // latest points to it
)

type createOptions struct {
	bundle, to, parent, method string
	sync, reserve              bool
}

func createVerb() *command.Verb {
	o := &createOptions{}
	return &command.Verb{
		Name:  "create",
		Short: "make a checkpoint: clone the live bands into a directory",
		Long: `
The directory appears complete, by one rename, or not at all. If it is there
already nothing changes and the status is 1. Beside a directory named vN, the
symbolic link "latest" is made to point to the highest.

Below a reserve of free space it is refused: the first write to each band needs
room for a copy from then on.

Beside the bands, record.json keeps the "store" and the "checkpoint" of the record,
as they are once it is committed. It belongs to no clone of the bands.

changed_bands counts the bands that differ from the parent's: --parent, or the
record's checkpoint.parent, or what "latest" points to.

Nobody may write the bands meanwhile. With a record on standard input they are
left alone until the input ends, so that "bundlectl quiesce" can hand on the
record first, close its gate, and then end the input: what the parent already
holds is linked before, and only the rest while the gate is closed.

in: store, checkpoint; out: + clone`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.bundle, "bundle", "", "`BUNDLE` whose bands to clone")
			fs.StringVar(&o.to, "to", "", "`DIR` to make")
			fs.StringVar(&o.parent, "parent", "", "`DIR` of the checkpoint to count changed bands against")
			fs.StringVar(&o.method, "method", "", "clone by this `METHOD` only: link, clonefile, reflink or copy")
			fs.BoolVar(&o.reserve, "reserve", true, "refuse when the filesystem is nearly full")
			fs.BoolVar(&o.sync, "sync", true, "make the checkpoint durable before it appears")
		},
		Run: o.run,
	}
}

func (o *createOptions) run(ctx context.Context, stdio command.IO, _ []string) error {
	ways, err := methods(o.method)
	if err != nil {
		return err
	}
	told := o.bundle != "" && o.to != ""
	rec, err := record.Input(ctx, stdio.In, told)
	if err != nil {
		return err
	}
	var version int64
	if !told || rec.Has("checkpoint") {
		if err := fromRecord(rec, &o.bundle, &o.to, &version); err != nil {
			return err
		}
	}
	c := &creation{methods: ways, durable: o.sync}
	defer c.close()
	if err := c.open(o, version); err != nil {
		return err
	}
	if err := c.prepare(); err != nil {
		return err
	}
	if !told {
		if err := gate(ctx, stdio.In); err != nil {
			return err
		}
	}
	if err := c.make(ctx, rec); err != nil {
		return cannot(err, o.method)
	}
	if err := rec.Set("clone", c.clone.record(c.changed, c.took)); err != nil {
		return err
	}
	c.sweep(stdio.Err)
	return rec.Write(stdio.Out)
}

// gate waits for the end of the input: then the bands stand still. An interrupt
// ends the wait, as a read from a pipe cannot be.
func gate(ctx context.Context, in io.Reader) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
