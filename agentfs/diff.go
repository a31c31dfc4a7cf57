package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// diffing is what diff is asked to show.
type diffing struct {
	*app
	patch, stat, names bool
}

func (a *app) diffVerb() *command.Verb {
	d := &diffing{app: a}
	return &command.Verb{
		Name: "diff", Args: "[VERSION [VERSION]] [-- PATH…]", Max: -1, Split: true,
		Short: "show what has changed",
		Long: `
Since the latest checkpoint; since VERSION; from the first VERSION to the second.
PATHs, of files or directories, begin where you stand in the mount, else at its root.
Times alone make no difference.

A file that was renamed and not changed is shown so. +n -n are lines of text.
--patch writes what 'git apply' and 'patch -p1' take; git takes nothing inside .git,
nor empty directories, owners and extended attributes: that these were left out is
said on standard error.

On a terminal it is shown in colour by $PAGER, or less. --json: an array of
changes, see docs/records.md.`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&d.patch, "patch", false, "write a patch")
			command.Alias(fs, "p", "patch")
			fs.BoolVar(&d.stat, "stat", false, "count the changed lines of each file")
			fs.BoolVar(&d.names, "name-only", false, "write the paths alone")
		},
		Run: d.diff,
	}
}

func (d *diffing) diff(ctx context.Context, _ command.IO, args []string) error {
	flags, err := d.flags()
	if err != nil {
		return err
	}
	versions, paths, err := split("diff", args, 2)
	if err != nil {
		return err
	}
	name, err := d.selected(ctx)
	if err != nil {
		return err
	}
	s, err := d.choose(ctx, name, versions)
	if err != nil {
		return err
	}
	if paths, err = d.inTree(s.store, paths); err != nil {
		return err
	}
	d.warnCutShort(s)
	stage := s.compare(false, flags, paths)
	if len(flags) > 0 {
		return d.paged(colourPatch, func(w io.Writer) error { return d.run.Pass(ctx, nil, w, stage) })
	}
	recs, err := d.run.List(ctx, nil, stage)
	changes, err := collect[record.Change](recs, "change", err)
	if err != nil {
		return err
	}
	return d.changes(changes, fmt.Sprintf("Nothing has changed from %s to %s", titled(s.from), s.name()))
}

// flags gives treediff's flags for another form than the list of changes.
func (d *diffing) flags() ([]string, error) {
	var flags []string
	for _, f := range []struct {
		set  bool
		name string
	}{{d.patch, "--patch"}, {d.stat, "--stat"}, {d.names, "--name-only"}} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	if len(flags) > 1 {
		return nil, status.Errorf(status.Usage, "diff: %s and %s exclude each other", flags[0], flags[1])
	}
	if len(flags) > 0 && d.json {
		return nil, status.Errorf(status.Usage, "diff: %s and --json exclude each other", flags[0])
	}
	return flags, nil
}

// changes shows a list of changes, or that there are none.
func (a *app) changes(list []record.Change, none string) error {
	if a.json {
		return a.document(list)
	}
	if len(list) == 0 {
		return a.result(nil, none)
	}
	return a.paged(nil, func(w io.Writer) error {
		paint := painter(w)
		for _, c := range list {
			if _, err := fmt.Fprintln(w, paint(colourOf[c.Kind], changeLine(c))); err != nil {
				return err
			}
		}
		return nil
	})
}

// warnCutShort says that the present may be halfway between two states.
func (a *app) warnCutShort(s sides) {
	if s.present() && s.store.Status == record.StoreApplying {
		a.warn("a restore in place of store %s is at work or was cut short", quoted(s.store.Name))
	}
}
