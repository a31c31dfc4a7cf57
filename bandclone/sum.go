package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/damage"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/bandclone/internal/sums"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

type sumOptions struct {
	parent   string
	rest     bool
	progress bool
}

func sumVerb() *command.Verb {
	o := &sumOptions{}
	return &command.Verb{
		Name: "sum", Args: "[DIR…]", Max: -1,
		Short: "write down the sums of a checkpoint's bands",
		Long: `
Writes SHA256SUMS into each checkpoint's directory that has none, for "bandclone
verify"; "sha256sum -c SHA256SUMS" checks it, too. A band that is the same file as in
the highest lower version that has one, or in the one that the checkpoint came from,
or in --parent, is not read again. What was interrupted goes on where it was.

A checkpoint that lacks bands, by its record.json, is an error: what is damaged
already must not get sums as if it were sound.

--rest is for the background: it sums all that have none beside DIR, one band at a time
at the lowest priority, unless another process is at that.

in: checkpoint; out: one "summed" a line, of those that had no sums`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.parent, "parent", "", "take over sums from the checkpoint in this `DIR`")
			fs.BoolVar(&o.rest, "rest", false, "sum what is not summed beside DIR, at the lowest priority")
			fs.BoolVar(&o.progress, "progress", false, "show progress also where standard error is no terminal")
		},
		Run: o.run,
	}
}

// summed is the key "summed" of the record.
type summed struct {
	Dir    string `json:"dir"`
	Bands  int    `json:"bands"`
	Hashed int    `json:"hashed"` // of them, read
}

func (o *sumOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	paths, rec, err := checkpointDirs(ctx, stdio, args)
	if err != nil {
		return err
	}
	if o.rest {
		sums.Calm()
		return o.sumRest(ctx, rec, stdio, paths[0])
	}
	return o.sumAll(ctx, rec, stdio, paths)
}

// checkpointDirs gives the absolute paths of the directories in args or, where there
// are none, of the record's checkpoint.
func checkpointDirs(ctx context.Context, stdio command.IO, args []string) ([]string, *record.Record, error) {
	rec, err := record.Input(ctx, stdio.In, len(args) > 0)
	if err != nil {
		return nil, nil, err
	}
	if len(args) == 0 {
		path := ""
		if err := fromRecord(rec, nil, &path, nil); err != nil {
			return nil, nil, err
		}
		args = []string{path}
	}
	var paths []string
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, nil, err
		}
		paths = append(paths, path)
	}
	return paths, rec, nil
}

// sumAll sums checkpoints, the lower versions first: the others take over from them. One
// that cannot be summed does not keep the others from it.
func (o *sumOptions) sumAll(ctx context.Context, rec *record.Record, stdio command.IO, paths []string) error {
	slices.SortFunc(paths, byVersion)
	p := startProgress(stdio.Err, o.progress, "Summing bands...")
	defer p.stop()
	var failed error
	for _, path := range paths {
		done, err := o.sumOne(ctx, path, p.add)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) && !exists(path) {
			if len(paths) > 1 {
				continue // deleted meanwhile
			}
			err = status.Errorf(status.NoCheckpoint, "no checkpoint at %s", path)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if err := writeSummed(rec, done, stdio); err != nil {
			return err
		}
	}
	return failed
}

func writeSummed(rec *record.Record, done *summed, stdio command.IO) error {
	if done == nil {
		return nil
	}
	if err := rec.Set("summed", done); err != nil {
		return err
	}
	return rec.Write(stdio.Out)
}

// sumRest sums all checkpoints beside path that have no sums. One process does that
// at a time. Having let go it looks again: who came meanwhile has left the work to it.
func (o *sumOptions) sumRest(ctx context.Context, rec *record.Record, stdio command.IO, path string) error {
	beside, err := dir.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer beside.Close()
	tried := map[string]bool{}
	var failed error
	for {
		todo, err := unsummed(beside, tried)
		if err != nil || len(todo) == 0 {
			return errors.Join(failed, err)
		}
		unlock, err := lockSumming(beside)
		if err != nil || unlock == nil {
			return errors.Join(failed, err)
		}
		if todo, err = unsummed(beside, tried); err == nil {
			err = o.sumAll(ctx, rec, stdio, todo)
		}
		unlock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		failed = errors.Join(failed, err)
		for _, path := range todo {
			tried[path] = true
		}
	}
}

// summingLock is the file beside the checkpoints whose lock is held by who sums them in
// the background.
const summingLock = ".sums"

// lockSumming takes that lock; it gives nil where another process has it.
func lockSumming(beside *dir.Dir) (unlock func(), err error) {
	f, err := beside.OpenFile(summingLock, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return func() { f.Close() }, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}

// unsummed gives the paths of the checkpoints that have no sums, but for those that were
// tried.
func unsummed(beside *dir.Dir, tried map[string]bool) ([]string, error) {
	versions, err := stage.Versions(beside)
	var paths []string
	for _, v := range versions {
		name := fmt.Sprintf("v%d", v)
		_, err := beside.Stat(filepath.Join(name, record.SumsFile))
		if path := beside.Path(name); errors.Is(err, fs.ErrNotExist) && !tried[path] {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// sumOne sums the checkpoint at path; it gives nil where that has sums.
func (o *sumOptions) sumOne(ctx context.Context, path string, hashed func(bytes int64)) (*summed, error) {
	beside, name, err := split(path)
	if err != nil {
		return nil, err
	}
	defer beside.Close()
	d, err := beside.Open(name)
	if err != nil {
		return nil, err
	}
	set, err := bands.Read(d)
	defer d.Close()
	if err != nil {
		return nil, err
	}
	if there, err := d.Exists(record.SumsFile); there || err != nil {
		return nil, err
	}
	cp, err := damage.ReadNote(d)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if cp != nil && cp.Bands != int64(len(set.Bands)) {
		return nil, status.Errorf(status.General, "%s: made with %d bands, %d are there: not summed", path, cp.Bands, len(set.Bands)).
			WithHint("bandclone verify %s", path)
	}
	known := sums.List{}
	if err := o.takeOver(beside, name, cp, set, known); err != nil {
		return nil, err
	}
	n, err := sums.Job{Dir: d, Set: set, Known: known, Calm: o.rest, Hashed: hashed}.Write(ctx)
	return &summed{path, len(set.Bands), n}, err
}

// takeOver puts the sums of those bands into known that are the same files in another
// checkpoint that has been summed.
func (o *sumOptions) takeOver(beside *dir.Dir, name string, cp *record.Checkpoint, set *bands.Set, known sums.List) error {
	if o.parent != "" {
		d, err := dir.Open(o.parent)
		if err != nil {
			return err
		}
		defer d.Close()
		return takeFrom(d, set, known)
	}
	candidates, err := forebears(beside, name, cp)
	if err != nil {
		return err
	}
	for _, v := range candidates {
		d, err := beside.Open(fmt.Sprintf("v%d", v))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		err = takeFrom(d, set, known)
		d.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// forebears gives the versions to take sums from: the highest lower one that has some,
// and the one that the checkpoint came from.
func forebears(beside *dir.Dir, name string, cp *record.Checkpoint) ([]uint64, error) {
	self, ok := stage.Version(name)
	if !ok {
		return nil, nil
	}
	versions, err := stage.Versions(beside)
	slices.Sort(versions)
	var list []uint64
	for _, v := range slices.Backward(versions) {
		if v >= self {
			continue
		}
		there, err := beside.Exists(filepath.Join(fmt.Sprintf("v%d", v), record.SumsFile))
		if err != nil {
			return nil, err
		}
		if there {
			list = append(list, v)
			break
		}
	}
	if cp != nil && cp.Parent > 0 && !slices.Contains(list, uint64(cp.Parent)) {
		list = append(list, uint64(cp.Parent))
	}
	return list, err
}

// takeFrom takes over the sums of another checkpoint, if it has any that can be relied on.
func takeFrom(d *dir.Dir, set *bands.Set, known sums.List) error {
	list, err := sums.Read(d)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, sums.ErrDamaged) {
		return nil
	}
	if err != nil {
		return err
	}
	from, err := bands.Read(d)
	if err != nil || from.Dev != set.Dev {
		return err
	}
	return bands.Pairs(set, from, func(p bands.Pair) error {
		if sum, ok := list[p.Num]; ok && p.SameFile() {
			known[p.Num] = sum
		}
		return nil
	})
}

// byVersion orders paths of checkpoints, the lower version first.
func byVersion(a, b string) int {
	x, _ := stage.Version(filepath.Base(a))
	y, _ := stage.Version(filepath.Base(b))
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
