package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"time"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/tool/durable"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// creation is a checkpoint in the making.
type creation struct {
	methods []bands.Method
	durable bool
	live    *dir.Dir   // BUNDLE/bands
	beside  *dir.Dir   // the directory that will hold the checkpoint
	name    string     // of the checkpoint in it
	parent  *bands.Set // nil for none
	clone   *clone     // nil before it is staged
	held    []held     // bands of the parent that it holds since prepare
	changed int64
	took    time.Duration
}

// held is a band that was linked before the gate closed.
type held struct {
	bands.Band
	size int64
}

func (c *creation) open(o *createOptions, parentVersion int64) error {
	bundle, err := dir.Open(o.bundle)
	if err != nil {
		return err
	}
	defer bundle.Close()
	if c.live, err = openBands(bundle); err != nil {
		return err
	}
	if err := durable.Mkdir(filepath.Dir(filepath.Clean(o.to)), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if c.beside, c.name, err = split(o.to); err != nil {
		return err
	}
	there, err := c.beside.Exists(c.name)
	if err != nil {
		return err
	}
	if there {
		return status.Errorf(status.General, "%s: exists already", o.to).WithHint("bandclone rm %s", o.to)
	}
	if o.reserve {
		if err := enough(c.beside); err != nil {
			return err
		}
	}
	return c.openParent(o.parent, parentVersion)
}

// openParent reads the parent: the directory that a flag names, the version
// that the record names, or else what latest points to. One that is gone is
// none, unless a flag names it.
func (c *creation) openParent(path string, version int64) error {
	var d *dir.Dir
	var err error
	switch name, e := c.beside.Readlink(stage.Latest); {
	case path != "":
		d, err = dir.Open(path)
	case version > 0:
		d, err = c.beside.Open(fmt.Sprintf("v%d", version))
	case e == nil && isVersion(name):
		d, err = c.beside.Open(name)
	default:
		return nil
	}
	if path == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.parent, err = bands.Read(d); err != nil {
		d.Close()
		c.parent = nil
	}
	return err
}

func isVersion(name string) bool {
	_, ok := stage.Version(name)
	return ok
}

// begin makes the temporary directory.
func (c *creation) begin() error {
	made, err := newClone(c.beside, "."+c.name, c.live, c.methods, bands.SealedMode)
	c.clone = made
	return err
}

// make does the rest, while nobody writes the bands. The record tells of the
// checkpoint.
func (c *creation) make(ctx context.Context, rec *record.Record) error {
	defer c.measure(time.Now())
	live, err := bands.Read(c.live)
	if err != nil {
		return err
	}
	if c.clone == nil {
		if err := c.begin(); err != nil {
			return err
		}
	}
	if err := c.fill(ctx, live); err != nil {
		return err
	}
	if err := createCloned.Reach(); err != nil {
		return err
	}
	if c.changed, err = c.clone.changed(c.parent); err != nil {
		return err
	}
	if err := c.note(rec); err != nil {
		return err
	}
	return c.publish()
}

// fill clones what prepare has not, and takes back what has changed since.
func (c *creation) fill(ctx context.Context, live *bands.Set) error {
	before := &bands.Set{}
	for _, h := range c.held {
		before.Bands = append(before.Bands, h.Band)
	}
	rest := &bands.Set{Dev: live.Dev, Notes: live.Notes, Strays: live.Strays}
	held := c.held
	err := bands.Pairs(live, before, func(p bands.Pair) error {
		var size int64
		if p.InB {
			size, held = held[0].size, held[1:]
		}
		switch {
		case p.SameFile():
			c.clone.bytes += size
			c.clone.cloner.Held(p.Num)
			return nil
		case p.InA:
			rest.Bands = append(rest.Bands, p.A)
		}
		if p.InB {
			return c.clone.stage.Unlink(bands.Name(p.Num))
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.clone.all(ctx, rest)
	c.clone.source = live
	return err
}

// publish gives the checkpoint its name.
func (c *creation) publish() error {
	if c.durable {
		if err := c.sync(); err != nil {
			return err
		}
	}
	if err := createSynced.Reach(); err != nil {
		return err
	}
	err := c.clone.stage.Publish(c.name)
	if errors.Is(err, fs.ErrExist) {
		return status.Errorf(status.General, "%s: exists already", c.beside.Path(c.name))
	}
	if err != nil {
		return err
	}
	if err := createRenamed.Reach(); err != nil {
		return err
	}
	if isVersion(c.name) {
		if err := stage.Repoint(c.beside); err != nil {
			return err
		}
	}
	if err := createLatest.Reach(); err != nil {
		return err
	}
	if c.durable {
		return c.beside.Sync()
	}
	return nil
}

// sync makes the checkpoint durable, but for its name: what the parent has too is as
// durable as that.
func (c *creation) sync() error {
	if c.clone.cloner.AllLinks() {
		flushed := bands.Flushed{}
		if c.parent != nil {
			flushed.Add(c.parent)
		}
		if err := flushed.Sync(c.clone.stage.Dir, c.clone.source); err != nil {
			return err
		}
	}
	return c.clone.sync()
}

func (c *creation) measure(start time.Time) { c.took += time.Since(start) }

// sweep removes what commands that died have left. The checkpoint is made: a
// failure here is only told.
func (c *creation) sweep(talk io.Writer) {
	names := leftovers + `|` + regexp.QuoteMeta("."+c.name)
	if err := stage.Sweep(c.beside, ".", names); err != nil {
		fmt.Fprintf(talk, "bandclone: sweep: %v\n", err)
	}
}

// close removes the temporary directory if it has not been published.
func (c *creation) close() {
	if c.clone != nil {
		c.clone.stage.Discard()
	}
	c.parent.Close()
	for _, d := range []*dir.Dir{c.live, c.beside} {
		if d != nil {
			d.Close()
		}
	}
}
