package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
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
