package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	teardownDetached = fault.Define("agentfs.teardown.detached")
	teardownMarked   = fault.Define("agentfs.teardown.marked")
	teardownPartly   = fault.Define("agentfs.teardown.partly") // the first of the files is gone
	teardownRemoved  = fault.Define("agentfs.teardown.removed")
	teardownDone     = fault.Define("agentfs.teardown.done")
)

// teardown removes a store, whose lock is held, in whatever state it is. The row
// goes last: as long as it is there the next command knows what to finish.
func (a *app) teardown(ctx context.Context, st record.Store) error {
	if err := a.detachIfAttached(ctx, st); err != nil {
		return err
	}
	if err := teardownDetached.Reach(); err != nil {
		return err
	}
	mark := pipeline.Tool("cpdb", "store", "set", st.Name, "--status", record.StoreDeleting)
	if err := a.run.Exec(ctx, nil, mark); err != nil {
		return err
	}
	if err := teardownMarked.Reach(); err != nil {
		return err
	}
	if err := removeFiles(st); err != nil {
		return err
	}
	// A directory that is not empty is not ours, and an empty one does no harm.
	_ = os.Remove(st.MountPath)
	if err := teardownRemoved.Reach(); err != nil {
		return err
	}
	if err := a.run.Exec(ctx, nil, pipeline.Tool("cpdb", "store", "rm", st.Name)); err != nil {
		if _, _, gone := a.get(ctx, st.Name); status.Of(gone) != status.NoStore {
			return err
		}
	}
	if teardownDone.Reach() != nil {
		return nil // as where these cannot be removed: empty directories, which do no harm
	}
	_ = os.Remove(filepath.Dir(st.BundlePath))
	for _, name := range []string{mountLink, indexLock, calmLock, syncLock, emptyTree} { // still there where the bundle lies elsewhere
		_ = os.Remove(filepath.Join(a.lockDir(st.Name), name))
	}
	_ = os.Remove(a.lockDir(st.Name)) // last: without it others could take the lock
	return nil
}

// detachIfAttached does not ask first: what a dead band server has left mounted
// is in no list. A detach that fails matters only where something is attached.
func (a *app) detachIfAttached(ctx context.Context, st record.Store) error {
	err := a.run.Exec(ctx, nil, pipeline.Tool("bundlectl", "detach", st.BundlePath))
	if err == nil {
		return nil
	}
	images, lost := a.attached(ctx)
	if _, yes := images[st.BundlePath]; yes || lost != nil {
		return err
	}
	return nil
}

// removeFiles removes the bundle and the checkpoints, and all else from the
// store's directory if it is one of its own: a bundle that was registered by
// hand may lie beside other things.
func removeFiles(st record.Store) error {
	dir := filepath.Dir(st.BundlePath)
	paths := []string{st.BundlePath, filepath.Join(dir, "checkpoints")}
	if filepath.Base(dir) == st.Name {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		paths = nil
		for _, e := range entries {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	for _, p := range paths {
		if err := removeTree(p); err != nil {
			return err
		}
		if err := teardownPartly.Reach(); err != nil {
			return err
		}
	}
	return nil
}

// removeTree is os.RemoveAll that never goes into another filesystem: a mount
// that nobody expected there must not be emptied.
func removeTree(path string) error {
	home, err := device(filepath.Dir(path))
	if err != nil {
		return ignoreMissing(err)
	}
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dev, err := device(p); err != nil || dev != home {
			return errors.Join(err, &fs.PathError{Op: "remove", Path: p, Err: syscall.EXDEV})
		}
		return nil
	})
	if err != nil {
		return ignoreMissing(err)
	}
	return os.RemoveAll(path)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func device(path string) (uint64, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return uint64(st.Sys().(*syscall.Stat_t).Dev), nil
}
