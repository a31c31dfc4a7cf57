package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

type filesOptions struct{ bundle, checkpoint string }

func filesVerb() *command.Verb {
	o := &filesOptions{}
	return &command.Verb{
		Name: "files", Args: "[BAND…]", Max: -1,
		Short: "tell what lies in bands of a checkpoint",
		Long: `
Adds to each damage the paths whose data lies in the band, by the checkpoint's
filesystem, mounted aside, and "structures" where what the filesystem keeps for itself
does: tables, bitmaps, directories, the journal. Where it cannot be mounted, "whole" says
that all is hit. Of the bundle's own live bands nothing is told.

In: "damage", a list; or nothing, with --checkpoint and BAND. Out: the same damage with
"files", "structures", "whole".`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.bundle, "bundle", "", "the `BUNDLE` that the checkpoints are of")
			fs.StringVar(&o.checkpoint, "checkpoint", "", "the `DIR` of the checkpoint, where bands are named")
		},
		Run: o.run,
	}
}

func (o *filesOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	if o.bundle == "" || (len(args) > 0) != (o.checkpoint != "") {
		return status.Errorf(status.Usage, "files: needs --bundle, and --checkpoint where bands are named").
			WithHint("bundlectl files --bundle BUNDLE --checkpoint DIR 1f")
	}
	list, err := o.input(ctx, stdio, args)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(o.bundle)
	if err != nil {
		return err
	}
	q := &question{bundle: path, talk: func(err error) { fmt.Fprintf(stdio.Err, "bundlectl: %v\n", err) }}
	for at := 0; at < len(list); {
		n := sameDir(list[at:])
		if err := q.ask(ctx, list[at:at+n]); err != nil {
			return err
		}
		for _, h := range list[at : at+n] {
			if err := h.write(stdio); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}

// hit is a damage with the record that it came in.
type hit struct {
	rec    *record.Record
	damage record.Damage
}

func (h *hit) write(stdio command.IO) error {
	if err := h.rec.Set("damage", h.damage); err != nil {
		return err
	}
	return h.rec.Write(stdio.Out)
}

// input gives the damage on standard input, or makes one of each band that is named.
func (o *filesOptions) input(ctx context.Context, stdio command.IO, args []string) ([]*hit, error) {
	var list []*hit
	if len(args) == 0 {
		recs, err := record.InputAll(ctx, stdio.In)
		for _, rec := range recs {
			h := &hit{rec: rec}
			if err == nil {
				err = rec.Get("damage", &h.damage)
			}
			list = append(list, h)
		}
		return list, err
	}
	dir, err := filepath.Abs(o.checkpoint)
	for _, band := range args {
		if _, ok := bundle.ParseBandName(band); !ok {
			return nil, status.Errorf(status.Usage, "files: %q is no band", band)
		}
		list = append(list, &hit{record.New(), record.Damage{Dir: dir, Name: band}})
	}
	return list, err
}

// sameDir counts those at the front that are of one checkpoint.
func sameDir(list []*hit) int {
	n := 1
	for n < len(list) && list[n].damage.Dir == list[0].damage.Dir {
		n++
	}
	return n
}

// question is what lies in bands of a bundle's checkpoints.
type question struct {
	bundle string
	talk   func(err error)
}

// ask fills in what lies in the bands of one checkpoint.
func (q *question) ask(ctx context.Context, list []*hit) error {
	dir := list[0].damage.Dir
	if dir == filepath.Join(q.bundle, "bands") {
		return nil
	}
	var bands []int64
	var whose []*hit
	for _, h := range list {
		if i, ok := bundle.ParseBandName(h.damage.Name); ok {
			bands, whose = append(bands, i), append(whose, h)
		}
	}
	if len(bands) == 0 {
		return nil
	}
	found, err := selectEngine().Files(ctx, q.bundle, dir, bands)
	switch status.Of(err) {
	case status.OK:
		fill(whose, found)
		return nil
	case status.Mount:
		for _, h := range whose {
			h.damage.Whole = true
		}
		fallthrough
	case status.CannotRun:
		q.talk(err)
		return nil
	}
	return err
}

func fill(whose []*hit, found []engine.Within) {
	for i, h := range whose {
		h.damage.Files, h.damage.Structures = found[i].Files, found[i].Structures
	}
}
