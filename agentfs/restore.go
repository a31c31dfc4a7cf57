package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) restoreVerb() *command.Verb {
	how := &manner{}
	return &command.Verb{
		Name: "restore", Args: "VERSION [-- PATH…]", Min: 1, Max: -1, Split: true,
		Short: "restore to a checkpoint",
		Long: `
Asks first; -f does not. Saves the present as a checkpoint "pre-restore". Then, if
nobody uses the mount, unmounts, swaps the checkpoint's bands in and mounts: if any
step fails, the store is left as it was. If a shell, an editor or a server works in
the mount, it restores in place: the files that differ are replaced, one by one, and
all others are not touched, so that these go on working. If that is cut short, the
files are partly restored: restore again, or go back to "pre-restore".

--remount or --in-place choose. --remount refuses a mount that is in use and names
by whom (status 5).

With PATHs only these files or directories are brought back, in place; a file that
the checkpoint does not have is deleted. They begin where you stand in the mount,
else at its root. --dry-run shows what would change, and changes nothing.`,
		Flags: how.flags,
		Run: func(ctx context.Context, _ command.IO, args []string) error {
			return a.restore(ctx, *how, args)
		},
	}
}

// manner is how a restore is to be done.
type manner struct {
	inPlace, remount, dryRun bool
	paths                    []string // nil for all
}

func (m *manner) flags(fs *flag.FlagSet) {
	fs.BoolVar(&m.inPlace, "in-place", false, "do not unmount, replace the files that differ")
	fs.BoolVar(&m.remount, "remount", false, "unmount, or fail if the mount is in use")
	fs.BoolVar(&m.dryRun, "dry-run", false, "show what would change")
}

// parse takes version and paths from the arguments.
func (m *manner) parse(args []string) (version string, err error) {
	versions, paths, err := split("restore", args, 1)
	if err != nil {
		return "", err
	}
	if len(versions) == 0 {
		return "", status.Errorf(status.Usage, "restore: no version").WithHint("agentfs checkpoint list")
	}
	m.paths = paths
	if m.remount && (m.inPlace || len(paths) > 0) {
		return "", status.Errorf(status.Usage, "restore: --remount brings back all, by unmounting").
			WithHint("leave --remount away to restore in place")
	}
	m.inPlace = m.inPlace || len(paths) > 0
	return versions[0], nil
}

var (
	restoreLocked    = fault.Define("agentfs.restore.locked")
	restoreSaved     = fault.Define("agentfs.restore.saved")
	restoreDurable   = fault.Define("agentfs.restore.durable")
	restoreMarked    = fault.Define("agentfs.restore.marked")
	restoreDetached  = fault.Define("agentfs.restore.detached")
	restoreSwapped   = fault.Define("agentfs.restore.swapped")
	restoreAttached  = fault.Define("agentfs.restore.attached")
	restoreFinished  = fault.Define("agentfs.restore.finished")
	restoreDone      = fault.Define("agentfs.restore.done")
	restoreRescuing  = fault.Define("agentfs.restore.rescuing")
	restoreWithdrawn = fault.Define("agentfs.restore.withdrawn")
)

// restoring is a restore while it runs.
type restoring struct {
	*app
	how      manner
	rec      *record.Record    // store and checkpoint
	store    record.Store      //
	to       record.Checkpoint // what is to come back
	mounted  bool              // the store was mounted at the start
	saved    record.Checkpoint // the present, as it was
	detached bool              // the old state has been unmounted
	attached bool              // the new state has been mounted
	finished bool              // the old state is no longer kept
	applied  *record.Applied   // what was changed in place
}

// restored is what restore --json shows.
type restored struct {
	Store      string  `json:"store"`
	Version    string  `json:"version"`
	Message    string  `json:"message"`
	SavedAs    string  `json:"saved_as"`
	MountPath  string  `json:"mount_path"`
	DurationMS float64 `json:"duration_ms"`

	InPlace bool            `json:"in_place"`
	Applied *record.Applied `json:"applied,omitempty"` // what was changed in place
}

func (a *app) restore(ctx context.Context, how manner, args []string) error {
	v, err := how.parse(args)
	if err != nil {
		return err
	}
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	if how.dryRun {
		return a.foretell(ctx, name, v, how.paths)
	}
	if err := a.askRestore(ctx, name, v, how); err != nil {
		return err
	}
	began := time.Now()
	if err := a.hold(ctx, name); err != nil {
		return err
	}
	if err := restoreLocked.Reach(); err != nil {
		return err
	}
	r := &restoring{app: a, how: how}
	if err := r.look(ctx, name, v); err != nil {
		return err
	}
	if err := r.checkInPlace(ctx); err != nil {
		return err
	}
	leftovers, err := r.save(ctx)
	if err != nil {
		return err
	}
	if err := r.secure(ctx); err != nil {
		return r.withdraw(context.WithoutCancel(ctx), err)
	}
	if err := r.bringBack(ctx); err != nil {
		return err
	}
	err = r.tell(millis(began))
	a.sweepAfter(ctx, leftovers)
	a.followUp(leftovers, r.live())
	return err
}

// bringBack does it in the manner that was asked for, or that is possible.
func (r *restoring) bringBack(ctx context.Context) error {
	if r.how.inPlace {
		return r.inPlace(ctx)
	}
	err := r.exchange(ctx)
	var busy *busyError
	if errors.As(err, &busy) {
		r.stage("%s", busy.Error())
		return r.inPlace(ctx)
	}
	return err
}

// tell says what was done.
func (r *restoring) tell(ms float64) error {
	doc := restored{r.store.Name, version(r.to.Version), r.to.Message, version(r.saved.Version), r.store.MountPath, ms, r.how.inPlace, r.applied}
	switch {
	case len(r.how.paths) == 1:
		return r.done(restoreDone, doc, fmt.Sprintf("Restored %s from %s (%.0fms)", visible(r.how.paths[0]), titled(r.to), ms))
	case len(r.how.paths) > 1:
		return r.done(restoreDone, doc, fmt.Sprintf("Restored %d paths from %s (%.0fms)", len(r.how.paths), titled(r.to), ms))
	case r.how.inPlace:
		return r.done(restoreDone, doc, fmt.Sprintf("Restored to %s in place (%.0fms)", titled(r.to), ms))
	}
	return r.done(restoreDone, doc, fmt.Sprintf("Restored to %s (%.0fms)", titled(r.to), ms))
}

// live gives the checkpoint that shares most bands with what is mounted now.
func (r *restoring) live() record.Checkpoint {
	if r.how.inPlace {
		return r.saved
	}
	return r.to
}

// foretell shows what a restore would change.
func (a *app) foretell(ctx context.Context, name, v string, paths []string) error {
	s, err := a.choose(ctx, name, []string{v})
	if err != nil {
		return err
	}
	if paths, err = a.inTree(s.store, paths); err != nil {
		return err
	}
	a.warnCutShort(s)
	recs, err := a.run.List(ctx, nil, s.compare(true, nil, paths))
	changes, err := collect[record.Change](recs, "change", err)
	if err != nil {
		return err
	}
	return a.changes(changes, "A restore to "+titled(s.from)+" would change nothing")
}

// askRestore asks before the lock is taken: people think for longer than others
// should wait.
func (a *app) askRestore(ctx context.Context, name, v string, how manner) error {
	if a.force {
		return nil
	}
	_, st, cp, err := a.checkpoint(ctx, name, v)
	if err != nil {
		return err
	}
	what := "Restore to"
	if len(how.paths) > 0 {
		what = fmt.Sprintf("Restore %s from", visible(strings.Join(how.paths, ", ")))
	}
	return a.confirm(ctx, "%s %s? Current state will be saved as %s.", what, version(cp.Version), version(st.NextVersion))
}

// look finds out how things are, now that the lock keeps them so.
func (r *restoring) look(ctx context.Context, name, v string) error {
	find := func() (err error) { r.rec, r.store, r.to, err = r.checkpoint(ctx, name, v); return err }
	var images map[string]record.Image
	err := both(find, func() (err error) { images, err = r.app.attached(ctx); return err })
	if err != nil {
		return err
	}
	r.mounted = images[r.store.BundlePath].MountPath != ""
	if r.store.Status == record.StoreReady {
		if !r.rec.Has("doubtful") {
			return nil
		}
		if err := r.believe(ctx, r.rec, r.mounted); err != nil {
			return err
		}
		return find()
	}
	if err := r.repair(ctx, r.rec, r.store); err != nil {
		return err
	}
	if r.mounted, err = r.isMounted(ctx, r.store); err != nil {
		return err
	}
	return find()
}

// save saves the present.
func (r *restoring) save(ctx context.Context) (rec *record.Record, err error) {
	r.stage("Creating checkpoint %s \"pre-restore\"...", version(r.store.NextVersion))
	why := reason{record.Causality{Action: "restore", Before: true}}
	// It may use the reserve: a restore is how a full disk gets room again.
	rec, r.saved, err = r.app.save(ctx, saving{store: r.store.Name, message: preRestore, mounted: r.mounted, reserve: true, why: why.told()})
	if err != nil {
		return nil, r.notMounted(ctx, r.store, err)
	}
	return rec, nil
}

// secure makes the saved present durable: its files will be nowhere else, and a power cut
// in the middle must not take both.
func (r *restoring) secure(ctx context.Context) error {
	if err := restoreSaved.Reach(); err != nil {
		return err
	}
	if _, err := r.makeDurable(ctx, r.store.Name); err != nil {
		return err
	}
	return restoreDurable.Reach()
}

// exchange leaves the store restored or, with an error, as it was. Once begun it
// is not interrupted: to go on takes no longer than to go back.
func (r *restoring) exchange(ctx context.Context) error {
	steady := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		return r.withdraw(steady, pipeline.ErrInterrupted)
	}
	err := r.swap(steady)
	if err != nil {
		err = r.rescue(steady, err)
	}
	return err
}

// swap is the restore proper. All its stages are started at once: each does its
// work when the record reaches it, and the time of their start is not lost.
func (r *restoring) swap(ctx context.Context) error {
	mark := pipeline.Tool("cpdb", "store", "set", "--status", record.StoreRestoring).Then(restoreMarked.Reach)
	detach := pipeline.Tool("bundlectl", "detach", "--handover").Then(func() error {
		r.detached = true
		r.stage("Restoring from %s...", version(r.to.Version))
		return restoreDetached.Reach()
	})
	swap := pipeline.Tool("bandclone", "restore").Then(func() error {
		r.stage("Mounting...")
		return restoreSwapped.Reach()
	})
	attach := pipeline.Tool("bundlectl", "attach").Then(func() error {
		r.attached = true
		return restoreAttached.Reach()
	})
	end := pipeline.Tool("bandclone", "restore", finish).Then(func() error {
		r.finished = true
		return restoreFinished.Reach()
	})
	if !r.mounted {
		r.stage("Restoring from %s...", version(r.to.Version))
		return r.run.Exec(ctx, r.rec, mark, swap, attach, end, r.settled())
	}
	r.stage("Unmounting...")
	return r.run.Exec(ctx, r.rec, mark, detach, swap, attach, end, r.settled())
}

// settled ends a restore that has worked: the present comes from that checkpoint now.
func (r *restoring) settled() pipeline.Stage {
	ready := setReady(true)
	ready.Args = append(ready.Args, "--base", version(r.to.Version))
	return ready
}
