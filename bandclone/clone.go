package main

import (
	"context"
	"slices"
	"time"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/tool/record"
)

// clone is a clone while it is being made, in a directory with a temporary name.
type clone struct {
	cloner bands.Cloner
	stage  *stage.Dir
	source *bands.Set // what is cloned, as it was when the clone was made
	bytes  int64
}

// newClone makes the temporary directory base.tmp-… in parent. With clonefile it
// is then the clone already, else it is empty.
func newClone(parent *dir.Dir, base string, from *dir.Dir, methods []bands.Method, mode uint32) (*clone, error) {
	c := &clone{cloner: bands.Cloner{From: from, Methods: methods, Mode: mode}}
	var err error
	if c.cloner.Whole() {
		c.stage, err = stage.New(parent, base, func(name string) error { return from.CloneTo(parent, name) })
		if err != nil && dir.Cannot(err) && len(methods) > 1 {
			return newClone(parent, base, from, methods[1:], mode)
		}
	} else {
		c.stage, err = stage.New(parent, base, parent.Mkdir)
	}
	if err != nil {
		return nil, err
	}
	c.cloner.To = c.stage.Dir
	return c, nil
}

// prune removes what came along with a whole clone and is no band.
func (c *clone) prune() error {
	for _, name := range slices.Concat(c.source.Notes, c.source.Strays) {
		if err := c.stage.Unlink(name); err != nil {
			return err
		}
	}
	return nil
}

// all clones every band of set.
func (c *clone) all(ctx context.Context, set *bands.Set) error {
	c.source = set
	if c.cloner.Whole() {
		if err := c.prune(); err != nil {
			return err
		}
	} else if err := c.cloner.All(ctx, set); err != nil {
		return err
	}
	for _, b := range set.Bands {
		if err := c.measure(b); err != nil {
			return err
		}
	}
	return nil
}

// measure adds the length of a band to the sum.
func (c *clone) measure(b bands.Band) error {
	info, err := c.stage.Stat(b.Name())
	c.bytes += info.Size
	return err
}

// sync makes the clone durable. Where no data was written, its names are all.
func (c *clone) sync() error {
	if c.cloner.AllLinks() || c.cloner.Whole() {
		return c.stage.Sync()
	}
	return c.stage.SyncData()
}

// changed counts the bands that differ from parent's; without a parent all do.
func (c *clone) changed(parent *bands.Set) (int64, error) {
	if parent == nil {
		return int64(len(c.source.Bands)), nil
	}
	// A link has the inode number of its band; that of any other clone is not
	// asked for.
	made := &bands.Set{Dir: c.stage.Dir, Dev: c.source.Dev, Bands: c.source.Bands}
	return bands.Changed(made, parent, c.cloner.Linked)
}

// record tells what was made.
func (c *clone) record(changed int64, took time.Duration) record.Clone {
	return record.Clone{
		Method:       string(c.cloner.Method()),
		Bands:        int64(len(c.source.Bands)),
		Bytes:        c.bytes,
		ChangedBands: changed,
		DurationMS:   float64(took.Microseconds()) / 1000,
	}
}
