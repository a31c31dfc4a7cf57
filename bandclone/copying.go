package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/bandclone/internal/sums"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// copying is a checkpoint that is to be copied.
type copying struct {
	record.Checkpoint                // as the record tells of it
	rec               *record.Record //
	to                *dir.Dir       // the directory of the copies
	shown             *progress

	set   *bands.Set // of the checkpoint itself
	told  sums.List  // what SHA256SUMS beside it says; nil where there is none
	kin   []*kin     // with whom it may share
	stage *stage.Dir

	mu   sync.Mutex
	sums sums.List // of the copy
	done record.Copied
}

// kin is an earlier checkpoint whose copy is there already.
type kin struct {
	here *bands.Set // the checkpoint itself; nil where it is gone
	copy *bands.Set
	sums sums.List // of the copy
}

func (k *kin) close() {
	k.here.Close()
	k.copy.Close()
}

func (c *copying) name() string { return fmt.Sprintf("v%d", c.Version) }

// run copies the checkpoint, or brings what tells of its copy up to date.
func (c *copying) run(ctx context.Context) error {
	start := time.Now()
	there, err := c.to.Exists(c.name())
	if err != nil {
		return err
	}
	if there {
		return c.refresh()
	}
	if err := c.open(); err != nil {
		return err
	}
	defer c.close()
	if c.stage, err = stage.New(c.to, "."+c.name(), c.to.Mkdir); err != nil {
		return err
	}
	defer c.stage.Discard()
	if err := copyStaged.Reach(); err != nil {
		return err
	}
	if err := c.fill(ctx); err != nil {
		return c.unlessGone(err)
	}
	if err := copyCopied.Reach(); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return err
	}
	c.done.Bands = int64(len(c.set.Bands))
	c.done.DurationMS = float64(time.Since(start).Microseconds()) / 1000
	return c.rec.Set("copied", c.done)
}

// open reads the checkpoint, what is said of it, and whom it may share with.
func (c *copying) open() (err error) {
	c.set, err = openCheckpoint(c.Dir)
	switch {
	case status.Of(err) == status.NoCheckpoint:
		return err
	case err != nil:
		return fmt.Errorf("%s %w: %w", c.name(), errDamaged, err)
	}
	c.told, err = sums.Read(c.set.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.told = nil
	case errors.Is(err, sums.ErrDamaged):
		return fmt.Errorf("%s %w: %w", c.name(), errDamaged, err)
	case err != nil:
		return err
	}
	if err := c.complete(); err != nil {
		return err
	}
	c.sums = sums.List{}
	return c.openKin()
}

// complete refuses a checkpoint that has lost bands, or got some.
func (c *copying) complete() error {
	if c.Bands > 0 && c.Bands != int64(len(c.set.Bands)) {
		return fmt.Errorf("%s %w: %d bands of %d", c.name(), errDamaged, len(c.set.Bands), c.Bands)
	}
	if c.told == nil {
		return nil
	}
	for _, b := range c.set.Bands {
		if _, known := c.told[b.Num]; !known {
			return fmt.Errorf("%s %w: band %s is not in %s", c.name(), errDamaged, b.Name(), record.SumsFile)
		}
	}
	if len(c.told) != len(c.set.Bands) {
		return fmt.Errorf("%s %w: %d bands of %d", c.name(), errDamaged, len(c.set.Bands), len(c.told))
	}
	return nil
}

// openKin opens the parent and the next lower version, as far as they have been copied.
func (c *copying) openKin() error {
	versions, err := stage.Versions(c.to)
	if err != nil {
		return err
	}
	var lower, parent uint64
	for _, v := range versions {
		if v < uint64(c.Version) {
			lower = max(lower, v)
		}
		if v == uint64(c.Parent) {
			parent = v
		}
	}
	for i, v := range []uint64{parent, lower} {
		if v == 0 || i == 1 && v == parent {
			continue
		}
		k, err := c.openOne(fmt.Sprintf("v%d", v))
		if err != nil {
			return err
		}
		c.kin = append(c.kin, k)
	}
	return nil
}

func (c *copying) openOne(name string) (*kin, error) {
	k := &kin{}
	d, err := c.to.Open(name)
	if err != nil {
		return nil, err
	}
	if k.copy, err = bands.Read(d); err != nil {
		return nil, err
	}
	if k.sums, err = sums.Read(d); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, sums.ErrDamaged) {
		return nil, err
	}
	here, err := dir.Open(filepath.Join(filepath.Dir(c.Dir), name))
	if err == nil {
		if k.here, err = bands.Read(here); err != nil {
			k.here = nil // it tells nothing
		}
	}
	return k, nil
}

func (c *copying) close() {
	c.set.Close()
	for _, k := range c.kin {
		k.close()
	}
}

// fill makes the copy of each band.
func (c *copying) fill(ctx context.Context) error {
	return sums.Parallel(ctx, len(c.set.Bands), false, func(_ context.Context, i int) error {
		return c.band(c.set.Bands[i])
	})
}

func (c *copying) band(b bands.Band) error {
	for _, k := range c.kin {
		if shared, err := c.share(b, k); shared || err != nil {
			return err
		}
	}
	h := sha256.New()
	n, err := bands.CopySeen(c.set.Dir, c.stage.Dir, b.Num, bands.SealedMode, func(p []byte) { _, _ = h.Write(p) })
	if err != nil {
		return err
	}
	c.shown.add(n)
	var sum sums.Sum
	h.Sum(sum[:0])
	if want, known := c.told[b.Num]; known && want != sum {
		return fmt.Errorf("%s %w: band %s is not what %s says", c.name(), errDamaged, b.Name(), record.SumsFile)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sums[b.Num] = sum
	c.done.CopiedBands++
	c.done.Bytes += n
	return nil
}

// share makes the band a link to that of an earlier copy, if it is the same.
func (c *copying) share(b bands.Band, k *kin) (bool, error) {
	there, ok := k.copy.Find(b.Num)
	if !ok {
		return false, nil
	}
	sum, known := k.sums[b.Num]
	if want, told := c.told[b.Num]; !known || told && want != sum {
		return false, nil
	}
	same, err := c.same(b, there, k, sum)
	if err != nil || !same {
		return false, err
	}
	if err := k.copy.Dir.Link(c.stage.Dir, b.Name()); err != nil {
		if dir.Cannot(err) {
			return false, nil
		}
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sums[b.Num] = sum
	return true, nil
}

// same tells whether a band is what its copy was made of: by its inode or, where each
// checkpoint has files of its own, by its sum, which is made where the lengths and the
// times of the last change are the same.
func (c *copying) same(b, there bands.Band, k *kin, sum sums.Sum) (bool, error) {
	if k.here != nil {
		if old, ok := k.here.Find(b.Num); ok && k.here.Dev == c.set.Dev && old.Ino == b.Ino {
			return true, nil
		}
	}
	x, err := c.set.Dir.Stat(b.Name())
	if err != nil {
		return false, err
	}
	y, err := k.copy.Dir.Stat(there.Name())
	if err != nil || x.Size != y.Size || x.Mtime != y.Mtime {
		return false, err
	}
	have, _, err := sums.Of(context.Background(), c.set.Dir, b.Name())
	return have == sum, err
}

// publish gives the copy its sums, what tells of it, and its name.
func (c *copying) publish(ctx context.Context) error {
	made, err := bands.Read(c.stage.Dir)
	if err != nil {
		return err
	}
	flushed := bands.Flushed{}
	for _, k := range c.kin {
		flushed.Add(k.copy)
	}
	if err := flushed.Sync(c.stage.Dir, made); err != nil {
		return err
	}
	if _, err := (sums.Job{Dir: c.stage.Dir, Set: made, Known: c.sums}).Write(ctx); err != nil {
		return err
	}
	text, err := c.about()
	if err == nil {
		err = placeNote(c.stage.Dir, text)
	}
	if err != nil {
		return err
	}
	if err := copySynced.Reach(); err != nil {
		return err
	}
	if err := c.stage.Publish(c.name()); err != nil {
		return err
	}
	if err := copyRenamed.Reach(); err != nil {
		return err
	}
	return c.to.Sync()
}

// about gives what record.json of the copy says. It is durable, whatever the original
// is.
func (c *copying) about() ([]byte, error) {
	cp := c.Checkpoint
	cp.Dir, cp.BootID = c.to.Path(c.name()), ""
	if err := c.rec.Set("checkpoint", cp); err != nil {
		return nil, err
	}
	about := record.New()
	for _, key := range []string{"store", "checkpoint"} {
		if !c.rec.Has(key) {
			continue
		}
		var value json.RawMessage
		if err := c.rec.Get(key, &value); err != nil {
			return nil, err
		}
		if err := about.Set(key, value); err != nil {
			return nil, err
		}
	}
	var text bytes.Buffer
	err := about.Write(&text)
	return text.Bytes(), err
}

// refresh makes record.json of a copy that is there what the record says now.
func (c *copying) refresh() error {
	d, err := c.to.Open(c.name())
	if err != nil {
		return err
	}
	defer d.Close()
	text, err := c.about()
	if err != nil {
		return err
	}
	if old, err := readText(d, record.CheckpointFile); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := placeNote(d, text); err != nil {
		return err
	}
	return copyNoted.Reach()
}

func readText(d *dir.Dir, name string) ([]byte, error) {
	f, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// placeNote makes record.json, in the place of one that is there, durable.
func placeNote(d *dir.Dir, text []byte) error {
	const growing = "." + record.CheckpointFile
	if err := d.Unlink(growing); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.OpenFile(growing, os.O_WRONLY|os.O_CREATE|os.O_EXCL, bands.SealedMode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := d.Rename(growing, record.CheckpointFile); err != nil {
		return err
	}
	return d.Sync()
}

// unlessGone makes of an error about a checkpoint that has been deleted meanwhile one
// that says so.
func (c *copying) unlessGone(err error) error {
	d, e := dir.Open(c.Dir)
	if errors.Is(e, fs.ErrNotExist) {
		return gone(c.Dir, true)
	}
	if e == nil {
		d.Close()
	}
	return err
}
