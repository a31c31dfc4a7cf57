package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/damage"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/bandclone/internal/sums"
	"agentfs.internal/tool/record"
)

// repairing is the repair of one band.
type repairing struct {
	beside   *dir.Dir // the directory of the checkpoints
	target   *dir.Dir // the checkpoint
	damage   record.Damage
	want     sums.Sum
	stage    *stage.Dir
	hopeless map[sums.Sum]bool
	good     string // the name of the sound band in the stage
}

func (r *repairing) run(ctx context.Context) error {
	if sum, err := hex.DecodeString(r.damage.Sum); err != nil || copy(r.want[:], sum) != len(r.want) {
		return errors.New("what it should hold is not known")
	}
	if has, _, err := sums.Of(ctx, r.target, r.damage.Name); err == nil && has == r.want {
		return nil // by an earlier repair
	}
	var err error
	if r.stage, err = stage.New(r.beside, repairName, r.beside.Mkdir); err != nil {
		return err
	}
	defer r.stage.Discard()
	var causes error
	for _, find := range []func(context.Context) error{r.copySound, r.copyLost, r.rebuild} {
		err := find(ctx)
		if err == nil {
			err = r.prove(ctx)
		}
		if err == nil {
			return r.replace()
		}
		if !errors.Is(err, errNoCopy) {
			causes = errors.Join(causes, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		_ = r.stage.Unlink(r.good)
	}
	return cmp.Or(causes, errNoCopy)
}

// errNoCopy says that the content of a band is nowhere to be had.
var errNoCopy = errors.New("no sound copy of it is left")

// copySound takes the copy that verify has found.
func (r *repairing) copySound(context.Context) error {
	if r.damage.Sound == "" {
		return errNoCopy
	}
	from, name, err := split(r.damage.Sound)
	if err != nil {
		return err
	}
	defer from.Close()
	return r.copy(from, name)
}

// copy puts a file into the stage. A sealed one is linked.
func (r *repairing) copy(from *dir.Dir, name string) error {
	num, ok := bands.Number([]byte(name))
	if !ok {
		return errNoCopy
	}
	ways := []bands.Method{bands.Reflink, bands.Copy}
	if r.isBeside(from) {
		ways = append([]bands.Method{bands.Link}, ways...)
	}
	r.good = name
	c := bands.Cloner{From: from, To: r.stage.Dir, Methods: ways, Mode: bands.SealedMode}
	return c.Band(num)
}

// copyLost looks for the content among what repairs have replaced in this checkpoint:
// of two bands that were exchanged the second one is there.
func (r *repairing) copyLost(ctx context.Context) error {
	lost, err := r.beside.Open(lostPrefix + filepath.Base(r.damage.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return errNoCopy
	}
	if err != nil {
		return err
	}
	defer lost.Close()
	names, err := lost.Names(func(name string) bool { return true })
	for _, name := range names {
		if sum, _, err := sums.Of(ctx, lost, name); err == nil && sum == r.want {
			r.good = r.damage.Name
			return lost.LinkAs(name, r.stage.Dir, r.good)
		}
	}
	return cmp.Or(err, errNoCopy)
}

// isBeside tells whether a directory is one of the checkpoints: what is in there is
// never written again.
func (r *repairing) isBeside(d *dir.Dir) bool {
	return isVersion(filepath.Base(d.Path(""))) && r.beside.Is(filepath.Base(d.Path("")), d)
}

// rebuild puts the band together from what is left of it and from its other versions.
func (r *repairing) rebuild(ctx context.Context) error {
	if r.hopeless[r.want] {
		return errNoCopy
	}
	made := damage.Rebuild(ctx, r.want, damage.ReadLeft(r.target, r.damage.Name), r.versions())
	if made == nil {
		r.hopeless[r.want] = true
		return errNoCopy
	}
	r.good = r.damage.Name
	f, err := r.stage.OpenFile(r.good, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, bands.SealedMode)
	if err != nil {
		return err
	}
	_, err = f.Write(made)
	return errors.Join(err, f.Close())
}

// versions reads the band of that number in the other checkpoints, each file once.
func (r *repairing) versions() [][]byte {
	var list [][]byte
	seen := map[uint64]bool{}
	r.others(func(d *dir.Dir) {
		info, err := d.Stat(r.damage.Name)
		if err == nil && info.IsRegular() && !seen[info.Ino] {
			seen[info.Ino] = true
			list = append(list, damage.ReadLeft(d, r.damage.Name))
		}
	})
	return list
}

// others visits all checkpoints, those of the nearest versions first.
func (r *repairing) others(visit func(d *dir.Dir)) {
	versions, _ := stage.Versions(r.beside)
	self, _ := stage.Version(filepath.Base(r.damage.Dir))
	distance := func(v uint64) uint64 { return max(v, self) - min(v, self) }
	slices.SortFunc(versions, func(a, b uint64) int { return int(distance(a)) - int(distance(b)) })
	for _, v := range versions {
		d, err := r.beside.Open(fmt.Sprintf("v%d", v))
		if err != nil {
			continue // deleted meanwhile
		}
		visit(d)
		d.Close()
	}
}

// prove makes the band in the stage durable and reads it again.
func (r *repairing) prove(ctx context.Context) error {
	if err := repairFound.Reach(); err != nil {
		return err
	}
	f, err := r.stage.OpenFile(r.good, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = errors.Join(f.Sync(), f.Close())
	if err != nil {
		return err
	}
	has, _, err := sums.Of(ctx, r.stage.Dir, r.good)
	if err != nil {
		return err
	}
	if has != r.want {
		return errNoCopy
	}
	return repairSound.Reach()
}

// replace puts the sound band in the place of the damaged one, wherever that is.
func (r *repairing) replace() error {
	bad, err := r.target.Stat(r.damage.Name)
	if err == nil {
		err = r.keep(bad)
	}
	if err == nil {
		r.others(func(d *dir.Dir) {
			if err == nil {
				err = r.replaceShared(d, bad)
			}
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.put(r.target, r.damage.Name); err != nil {
		return err
	}
	return nil
}

// keep keeps the damaged file of a checkpoint in the lost directory: it may be what
// another band should be, or a live band, to which the server does not write while it has
// two names. What a live band was is not kept any longer.
func (r *repairing) keep(bad dir.Info) error {
	checkpoint := filepath.Base(r.damage.Dir)
	if !isVersion(checkpoint) {
		return r.forget(bad)
	}
	lost, err := openLost(r.beside, checkpoint)
	if err != nil {
		return err
	}
	defer lost.Close()
	free, err := freeName(lost, r.damage.Name+wasSuffix)
	if err != nil {
		return err
	}
	if err := r.target.LinkAs(r.damage.Name, lost, free); err != nil && !dir.Cannot(err) {
		return err
	}
	return lost.Sync()
}

// forget removes the names that a file has in the lost directories.
func (r *repairing) forget(bad dir.Info) error {
	names, err := r.beside.Names(func(name string) bool { return strings.HasPrefix(name, lostPrefix) })
	for _, name := range names {
		lost, e := r.beside.Open(name)
		if e != nil {
			return e
		}
		kept, e := lost.Names(func(name string) bool { return strings.HasPrefix(name, r.damage.Name+wasSuffix) })
		err = errors.Join(err, e)
		for _, was := range kept {
			if info, e := lost.Stat(was); e == nil && info.Ino == bad.Ino && info.Dev == bad.Dev {
				err = errors.Join(err, lost.Unlink(was))
			}
		}
		lost.Close()
	}
	return err
}

// replaceShared replaces the damaged file in another checkpoint, under every name for
// which that wants the same content. That of the damage itself is the last.
func (r *repairing) replaceShared(d *dir.Dir, bad dir.Info) error {
	if self, err := d.Self(); err != nil || r.beside.Is(filepath.Base(r.damage.Dir), d) || self.Dev != bad.Dev {
		return err
	}
	set, err := bands.Read(d)
	if err != nil {
		return nil // damaged in another way, and has a record of its own
	}
	list, _ := sums.Read(d)
	for _, b := range set.Bands {
		if sum, ok := list[b.Num]; b.Ino == bad.Ino && ok && sum == r.want {
			if err := r.put(d, b.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// put gives the sound band a name in a directory.
func (r *repairing) put(d *dir.Dir, name string) error {
	const second = "link"
	if err := r.stage.LinkAs(r.good, r.stage.Dir, second); err != nil {
		return err
	}
	if err := r.stage.Move(second, d, name); err != nil {
		return err
	}
	if err := repairReplaced.Reach(); err != nil {
		return err
	}
	return d.Sync()
}
