package main

import (
	"bufio"
	"context"
	"fmt"
	"unicode/utf8"

	"agentfs.internal/tool/record"
	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/trees"
	"agentfs.internal/treediff/patch"
)

// writeRecords writes a record for each difference.
func (o *diffOptions) writeRecords(ctx context.Context, out *bufio.Writer, pair *trees.Pair, all []trees.Difference) (notes, error) {
	lines, err := count(ctx, pair, all, o.hunks)
	if err != nil {
		return nil, err
	}
	for i := range all {
		c := change(&all[i])
		lines[i].tell(&c, &all[i])
		rec := record.New()
		if err := rec.Set("change", c); err != nil {
			return nil, err
		}
		if err := rec.Write(out); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// change is a difference as a record, without its lines.
func change(d *trees.Difference) record.Change {
	c := record.Change{
		Kind: string(d.Kind), Type: d.B.TypeName(), What: d.What.Names(),
		OldMode: mode(&d.A), NewMode: mode(&d.B),
	}
	c.Path, c.PathBytes = text(shown(d.Path))
	c.From, c.FromBytes = text(d.From)
	switch d.Kind {
	case trees.Deleted:
		c.Type = d.A.TypeName()
	case trees.Type:
		c.OldType = d.A.TypeName()
	}
	if d.A.IsRegular() {
		c.OldSize = d.A.Size
	}
	if d.B.IsRegular() {
		c.NewSize = d.B.Size
	}
	return c
}

func mode(i *dir.Info) string {
	if !i.There() {
		return ""
	}
	return fmt.Sprintf("%04o", i.Perm())
}

// shown is a path as people know it: the root is ".".
func shown(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// text gives a path for JSON, and its exact bytes where JSON cannot say it.
func text(path string) (string, []byte) {
	if utf8.ValidString(path) {
		return path, nil
	}
	return string([]rune(path)), []byte(path)
}

// counted are the lines of one difference.
type counted struct {
	binary         bool
	added, deleted int
	hunks          []record.Hunk // kind modified, where they are asked for
}

// tell puts the lines of a file into its record.
func (n *counted) tell(c *record.Change, d *trees.Difference) {
	switch {
	case d.Kind != trees.Added && d.Kind != trees.Deleted && d.What&trees.Content == 0:
	case !d.A.IsRegular() && !d.B.IsRegular():
	case n.binary:
		c.Binary = true
	default:
		c.LinesAdded, c.LinesDeleted, c.Hunks = &n.added, &n.deleted, n.hunks
	}
}

// count counts the lines of all whose content or target differs.
func count(ctx context.Context, pair *trees.Pair, all []trees.Difference, hunks bool) ([]counted, error) {
	lines := make([]counted, len(all))
	err := trees.Each(ctx, len(all), func(i int) (err error) {
		lines[i], err = countOne(pair, &all[i])
		if !hunks || all[i].Kind != trees.Modified {
			lines[i].hunks = nil // of many files they are many
		}
		return err
	})
	return lines, err
}

func countOne(pair *trees.Pair, d *trees.Difference) (counted, error) {
	switch {
	case d.Kind == trees.Renamed || d.Kind == trees.Metadata:
		return counted{}, nil
	case isLong(d):
		return counted{binary: true}, nil
	}
	f, err := load(pair, d)
	if err != nil {
		return counted{}, err
	}
	hunks, binary := patch.Hunks(f.Old.Content, f.New.Content)
	added, deleted := patch.Count(hunks)
	return counted{binary: binary, added: added, deleted: deleted, hunks: hunks}, nil
}
