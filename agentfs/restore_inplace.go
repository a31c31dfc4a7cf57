package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	applyMarked = fault.Define("agentfs.restore.applying")
	applyDone   = fault.Define("agentfs.restore.applied")
)

// busyError says that the mount is in use, so that a restore must be in place.
type busyError struct{ words string }

func (e *busyError) Error() string { return e.words }

// inUse tells of a swap that failed only because the mount is in use, where another
// manner may do.
func (r *restoring) inUse(cause error) error {
	var f *pipeline.Failure
	if r.how.remount || !errors.As(cause, &f) || f.Tool != "bundlectl" || f.Code != status.Mount {
		return nil
	}
	line, _, _ := strings.Cut(f.Words, "\n")
	_, who, ok := strings.Cut(line, " is busy: ")
	if !ok {
		return nil
	}
	return &busyError{"In use by " + who + ": restoring in place..."}
}

// checkInPlace refuses what can be seen not to work in place, before anything is done:
// a store that is not mounted, a path that is in neither tree.
func (r *restoring) checkInPlace(ctx context.Context) (err error) {
	if !r.how.inPlace {
		return nil
	}
	if !r.mounted {
		return r.mustBeMounted(ctx, r.store)
	}
	if r.how.paths, err = r.inTree(r.store, r.how.paths); err != nil {
		return err
	}
	var gone []string
	for _, p := range r.how.paths {
		if _, err := os.Lstat(filepath.Join(r.store.MountPath, p)); err != nil {
			gone = append(gone, p)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	s := sides{store: r.store, from: r.to}
	_, err = r.run.List(ctx, nil, s.compare(true, []string{"--no-renames"}, gone))
	return err
}

// inPlace makes the mounted tree, or paths in it, like the checkpoint's. The store is
// marked meanwhile: half of it is neither the one state nor the other.
func (r *restoring) inPlace(ctx context.Context) error {
	r.how.inPlace = true
	mark := pipeline.Tool("cpdb", "store", "set", r.store.Name, "--status", record.StoreApplying)
	err := r.run.Exec(ctx, nil, mark)
	if err == nil {
		err = applyMarked.Reach()
	}
	steady := context.WithoutCancel(ctx)
	if err != nil {
		return r.withdraw(steady, err)
	}
	r.stage("Restoring from %s in place...", version(r.to.Version))
	rec, err := r.run.Run(ctx, nil, r.apply())
	if err == nil {
		err = rec.Get("applied", &r.applied)
	}
	if err == nil {
		err = applyDone.Reach()
	}
	if err != nil {
		return r.halfway(steady, err)
	}
	return r.applySettled(steady)
}

// applySettled notes that all is done. It is worth a second attempt: without the note
// the next command would say that files may be halfway.
func (r *restoring) applySettled(ctx context.Context) error {
	var base []string
	if len(r.how.paths) == 0 {
		base = []string{"--base", version(r.to.Version)} // all is as it was there
	}
	if r.markReady(ctx, r.store.Name, base...) == nil {
		return nil
	}
	err := r.markReady(ctx, r.store.Name, base...)
	if err != nil {
		err = r.report(err)
		r.warn("all files are restored, though the next command will say that they are not")
	}
	return err
}

// apply makes the stage that does it.
func (r *restoring) apply() pipeline.Stage {
	s := sides{store: r.store, from: r.to}
	flags := s.oneImage()
	if isTerminal(r.io.Err) {
		flags = append(flags, "--progress")
	}
	words := slices.Concat([]string{"treediff", "apply"}, flags, []string{treeMark, r.store.MountPath, "--"}, r.how.paths)
	return s.aside(words...).Showing(r.io.Err)
}

// markReady ends the mark of a restore in place.
func (a *app) markReady(ctx context.Context, name string, more ...string) error {
	words := append([]string{"cpdb", "store", "set", name, "--status", record.StoreReady}, more...)
	return a.run.Exec(ctx, nil, pipeline.Tool(words...))
}

// halfway says where a restore in place that failed has left the files, and how to
// get out of there.
func (r *restoring) halfway(ctx context.Context, cause error) error {
	if err := r.markReady(ctx, r.store.Name); err != nil {
		return errors.Join(cause, err)
	}
	cause = r.report(cause)
	r.warn("the files may be partly restored; as they were they are saved as %s: agentfs restore %s, or try again",
		version(r.saved.Version), version(r.saved.Version))
	return cause
}

// cutShort ends a restore in place that was killed: the files stay as they are, and
// people hear where the state before is.
func (a *app) cutShort(ctx context.Context, st record.Store) error {
	list, err := a.history(ctx, st.Name, 0)
	if err != nil {
		return err
	}
	if err := a.markReady(context.WithoutCancel(ctx), st.Name); err != nil {
		return err
	}
	saved := "a checkpoint \"pre-restore\""
	for _, cp := range list {
		if cp.Message == preRestore {
			saved = titled(cp) + ": agentfs restore " + version(cp.Version)
			break
		}
	}
	a.warn("repaired: a restore of store %s was cut short, its files are partly restored. Restore again, or go back to what was before, %s", quoted(st.Name), saved)
	return nil
}
