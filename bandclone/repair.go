package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/bandclone/internal/sums"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	repairFound    = fault.Define("bandclone.repair.found")    // a sound copy is beside, not yet known to be one
	repairSound    = fault.Define("bandclone.repair.sound")    // it is sound, and durable
	repairReplaced = fault.Define("bandclone.repair.replaced") // in one checkpoint it is in its place
	repairMoved    = fault.Define("bandclone.repair.moved")    // what does not belong there is in the lost directory
	repairNoted    = fault.Define("bandclone.repair.noted")    // record.json is written, not under its name
)

const (
	repairName = ".repair" // beside the checkpoints, while a band is repaired
	lostPrefix = ".lost-"  // .lost-v3 has what was found in v3 and does not belong there
)

func repairVerb() *command.Verb {
	return &command.Verb{
		Name:  "repair",
		Short: "repair what verify has found",
		Long: `
A band gets the content that its sum tells: from "sound", or put together from what is
left of it and from the same band of other checkpoints. It is written beside, made
durable, read again, and only if it has the sum it replaces the damaged one, in every
checkpoint that shares that. A live band is left alone while its bundle is attached; the
damaged file is kept in .lost-vN until it has been repaired. What does not belong to a checkpoint is moved to .lost-vN beside it. A
damaged SHA256SUMS is moved there, too, and made anew; record.json is written from
"store" and "checkpoint", where the record has them.

in: damage, a list; out: the same with "repaired" (true or false) and, where it is
false, "why"; exit status 1 if anything could not be repaired`,
		Run: runRepair,
	}
}

func runRepair(ctx context.Context, stdio command.IO, _ []string) error {
	list, err := record.InputAll(ctx, stdio.In)
	if err != nil {
		return err
	}
	// A list of sums can be made anew when the bands are what they were.
	slices.SortStableFunc(list, func(a, b *record.Record) int { return aboutSums(a) - aboutSums(b) })
	left, failed, hopeless := 0, map[string]bool{}, map[sums.Sum]bool{}
	for _, rec := range list {
		var d record.Damage
		if err := rec.Get("damage", &d); err != nil {
			return err
		}
		err := errBands
		if d.Name != record.SumsFile || !failed[d.Dir] {
			err = repair(ctx, rec, d, hopeless)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			left++
			failed[d.Dir] = true
			fmt.Fprintf(stdio.Err, "bandclone: %s: %v\n", filepath.Join(d.Dir, d.Name), err)
			err = rec.Set("why", err.Error())
		}
		if err := errors.Join(err, rec.Set("repaired", !rec.Has("why")), rec.Write(stdio.Out)); err != nil {
			return err
		}
	}
	if left > 0 {
		return status.Errorf(status.General, "repair: %d of %d could not be repaired", left, len(list))
	}
	return tidy(list)
}

// errBands says that bands are still damaged that would get sums as if they were sound.
var errBands = errors.New("its bands are to be repaired first")

// aboutSums is 1 for the damage of a list of sums, else 0.
func aboutSums(rec *record.Record) int {
	var d record.Damage
	if rec.Get("damage", &d) == nil && d.Name == record.SumsFile {
		return 1
	}
	return 0
}

// repair repairs one damage. Sums in hopeless are not tried again to be put together.
func repair(ctx context.Context, rec *record.Record, d record.Damage, hopeless map[sums.Sum]bool) error {
	if filepath.Base(d.Dir) == bandsName {
		return repairLive(ctx, d, hopeless)
	}
	beside, name, err := split(d.Dir)
	if err != nil {
		return err
	}
	defer beside.Close()
	target, err := beside.Open(name)
	if err != nil {
		return err
	}
	defer target.Close()
	switch {
	case d.Name == record.CheckpointFile:
		return rewriteNote(rec, target)
	case d.Name == record.SumsFile:
		return sumAgain(ctx, d, beside, target, name)
	case d.Kind == record.DamageForeign:
		return moveToLost(beside, target, name, d.Name)
	}
	r := &repairing{beside: beside, target: target, damage: d, hopeless: hopeless}
	return r.run(ctx)
}

// repairLive repairs a live band, if no server can have it open.
func repairLive(ctx context.Context, d record.Damage, hopeless map[sums.Sum]bool) error {
	bundle, err := dir.Open(filepath.Dir(d.Dir))
	if err != nil {
		return err
	}
	defer bundle.Close()
	if free, err := bundle.TryLock(); err != nil { // the band server's lock
		return err
	} else if !free {
		return errors.New("the store is mounted and in use: close it, and repair again")
	}
	live, err := openBands(bundle)
	if err != nil {
		return err
	}
	defer live.Close()
	beside, err := dir.Open(filepath.Join(filepath.Dir(filepath.Dir(d.Dir)), checkpointsName))
	if err != nil {
		return err
	}
	defer beside.Close()
	r := &repairing{beside: beside, target: live, damage: d, hopeless: hopeless}
	return r.run(ctx)
}

// wasSuffix is behind the name of a band that was replaced, in the lost directory.
const wasSuffix = ".was"

// openLost opens the lost directory of a checkpoint; it is made.
func openLost(beside *dir.Dir, checkpoint string) (*dir.Dir, error) {
	if err := beside.Mkdir(lostPrefix + checkpoint); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return beside.Open(lostPrefix + checkpoint)
}

// moveToLost moves a file out of a checkpoint.
func moveToLost(beside, from *dir.Dir, checkpoint, name string) error {
	lost, err := openLost(beside, checkpoint)
	if err != nil {
		return err
	}
	defer lost.Close()
	free, err := freeName(lost, name)
	if err != nil {
		return err
	}
	err = from.Move(name, lost, free)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // by an earlier repair
	}
	if err == nil {
		err = repairMoved.Reach()
	}
	return errors.Join(err, lost.Sync(), from.Sync())
}

func freeName(d *dir.Dir, name string) (string, error) {
	free := name
	for n := 2; ; n++ {
		there, err := d.Exists(free)
		if !there || err != nil {
			return free, err
		}
		free = fmt.Sprintf("%s.%d", name, n)
	}
}

// tidy lets go of the bands that were replaced, once all have been repaired: of those that
// nobody else has any more, and of those that were sound, in another's place.
func tidy(list []*record.Record) error {
	done := map[string]bool{}
	for _, rec := range list {
		var d record.Damage
		if err := rec.Get("damage", &d); err != nil {
			return err
		}
		if done[d.Dir] || !isVersion(filepath.Base(d.Dir)) {
			continue
		}
		done[d.Dir] = true
		if err := tidyLost(d.Dir); err != nil {
			return err
		}
	}
	return nil
}

func tidyLost(checkpoint string) error {
	beside, name, err := split(checkpoint)
	if err != nil {
		return err
	}
	defer beside.Close()
	if err := dropSpare(beside); err != nil { // it may have a damaged band, too
		return err
	}
	if err := stage.Sweep(beside, ".", leftovers); err != nil {
		return err
	}
	lost, err := beside.Open(lostPrefix + name)
	if err != nil {
		return nil // nothing was kept
	}
	defer lost.Close()
	back, err := sumsIn(beside, name)
	if err != nil {
		return err
	}
	names, err := lost.Names(func(name string) bool { return strings.Contains(name, wasSuffix) })
	for _, was := range names {
		info, e := lost.Stat(was)
		sum, _, unread := sums.Of(context.Background(), lost, was)
		if e == nil && (info.Nlink == 1 || unread == nil && back[sum]) {
			err = errors.Join(err, lost.Unlink(was))
		}
	}
	if e := beside.Rmdir(lostPrefix + name); e != nil && !errors.Is(e, fs.ErrExist) { // not empty
		err = errors.Join(err, e)
	}
	return err
}

// sumsIn gives all sums of a checkpoint's bands.
func sumsIn(beside *dir.Dir, checkpoint string) (map[sums.Sum]bool, error) {
	d, err := beside.Open(checkpoint)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := sums.Read(d)
	all := map[sums.Sum]bool{}
	for _, sum := range list {
		all[sum] = true
	}
	return all, err
}

// sumAgain makes the file of sums anew. What other checkpoints know of the bands is
// taken over.
func sumAgain(ctx context.Context, d record.Damage, beside, target *dir.Dir, name string) error {
	if d.Why != "" && d.Kind != record.DamageUnreadable { // what is damaged would get sums as if it were sound
		return errors.New(d.Why)
	}
	if _, err := sums.Read(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if err := moveToLost(beside, target, name, record.SumsFile); err != nil {
			return err
		}
	}
	_, err := (&sumOptions{}).sumOne(ctx, d.Dir, func(int64) {})
	return err
}

// rewriteNote writes record.json from what the database says.
func rewriteNote(rec *record.Record, target *dir.Dir) error {
	note := record.New()
	for _, key := range []string{"store", "checkpoint"} {
		var value json.RawMessage
		if err := rec.Get(key, &value); err != nil {
			return err
		}
		if err := note.Set(key, value); err != nil {
			return err
		}
	}
	const temporary = "." + record.CheckpointFile
	f, err := target.OpenFile(temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, bands.SealedMode)
	if err != nil {
		return err
	}
	err = errors.Join(note.Write(f), f.Sync(), f.Close())
	if err == nil {
		err = repairNoted.Reach()
	}
	if err == nil {
		err = target.Rename(temporary, record.CheckpointFile)
	}
	return errors.Join(err, target.Sync())
}
