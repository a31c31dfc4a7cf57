package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// present blames a file as it is now. What is not saved yet stands first in its
// history, as a change without a checkpoint.
func (b *blaming) present(ctx context.Context, name, path string) ([]blamed, error) {
	if err := b.prepare(ctx, name); err != nil {
		return nil, err
	}
	path, err := b.fileHere(path)
	if err != nil {
		return nil, err
	}
	b.warnCutShort(sides{store: b.st})
	var base record.Checkpoint
	var history []*record.Record
	err = both( // at once, though the file may turn out to have had another name
		func() (err error) { history, err = b.trace(ctx, b.st.Base, path); return err },
		func() (err error) { base, err = b.base(ctx); return err })
	if err != nil {
		return nil, err
	}
	unsaved, err := b.unsaved(ctx, base, path)
	if err != nil {
		return nil, err
	}
	if unsaved != nil {
		if history, err = b.withUnsaved(ctx, unsaved, history); err != nil {
			return nil, err
		}
	}
	return b.ranges(ctx, history, func(tool ...string) pipeline.Stage {
		return pipeline.Tool(append(tool, b.st.MountPath, path)...)
	})
}

// prepare finds the store, and sees to it that it is mounted and that its checkpoints
// have been looked through.
func (b *blaming) prepare(ctx context.Context, name string) error {
	err := both(
		func() (err error) { _, b.st, err = b.get(ctx, name); return err },
		func() error { return b.catchUp(ctx, name) })
	if err != nil || isMountOf(b.st.MountPath, b.st.MountPath) {
		return err
	}
	return b.mustBeMounted(ctx, b.st)
}

// base finds the checkpoint that the present came from; it may be pruned. A fork
// without checkpoints of its own came from one of another store, which may be gone.
func (b *blaming) base(ctx context.Context) (base record.Checkpoint, err error) {
	store, v := b.st.Name, version(b.st.Base)
	if b.st.Base == 0 {
		var ok bool
		if store, v, ok = strings.Cut(b.st.ForkedFrom, " "); !ok {
			return base, nil
		}
	}
	rec, err := b.run.Run(ctx, nil, pipeline.Tool("cpdb", "checkpoint", "get", "--store", store, "--all", "--", v))
	switch status.Of(err) {
	case status.OK:
		err = rec.Get("checkpoint", &base)
	case status.NoStore, status.NoCheckpoint:
		return record.Checkpoint{Version: 1, Status: record.CheckpointPruned, CreatedAt: b.st.CreatedAt}, nil
	}
	return base, err
}

// fileHere gives the path of a file in the mount as seen from the tree's root, without
// the symbolic links on the way to it.
func (b *blaming) fileHere(path string) (string, error) {
	rel, err := b.inTree(b.st, []string{path})
	if err != nil {
		return "", err
	}
	full := physical(filepath.Join(b.st.MountPath, rel[0]))
	info, err := os.Stat(full)
	switch {
	case err != nil:
		return "", status.Errorf(status.General, "blame: %s: no such file", visible(path)).WithHint("agentfs log -- %s", pipeline.Quote(path))
	case !info.Mode().IsRegular():
		return "", status.Errorf(status.General, "blame: %s: not a file", visible(path))
	case !within(full, b.st.MountPath):
		return "", status.Errorf(status.General, "blame: %s: is a link to %s, which is not in %s", visible(path), full, b.st.MountPath)
	}
	return filepath.Rel(b.st.MountPath, full)
}

// unsaved tells how a file has changed since the base; nil where it has not.
func (b *blaming) unsaved(ctx context.Context, base record.Checkpoint, path string) (*record.Change, error) {
	if base.Version == 0 {
		return &record.Change{Path: path, Kind: record.ChangeAdded, Type: "file"}, nil
	}
	if b.untouched(path, base.CreatedAt.Add(-tick)) {
		return nil, nil
	}
	if base.Status != record.CheckpointReady {
		b.warn("what has changed in %s since the last checkpoint is not known: that is pruned", visible(path))
		return &record.Change{Path: path, Kind: record.ChangeModified, Type: "file"}, nil
	}
	c, err := b.compared(ctx, base, path, path)
	if err != nil || c == nil || c.Kind != record.ChangeAdded {
		return c, err
	}
	return b.compared(ctx, base, path) // it may have another name only
}

// tick is by how much a file's time of change may be behind the clock, with the slowest
// timer that kernels have.
const tick = 10 * time.Millisecond

// untouched tells whether neither the file nor a directory above it has been changed or
// renamed since then.
func (b *blaming) untouched(path string, since time.Time) bool {
	for at := path; at != "."; at = filepath.Dir(at) {
		changed, err := changeTime(filepath.Join(b.st.MountPath, at))
		if err != nil || !changed.Before(since) {
			return false
		}
	}
	return true
}

// compared gives the change of a file from the base to now, where only these paths, or
// all, are compared.
func (b *blaming) compared(ctx context.Context, base record.Checkpoint, path string, only ...string) (*record.Change, error) {
	recs, err := b.run.List(ctx, nil, sides{store: b.st, from: base}.compare(false, []string{"--hunks"}, only))
	changes, err := collect[record.Change](recs, "change", err)
	for i, c := range changes {
		if exactPath(c.Path, c.PathBytes) == path {
			return &changes[i], err
		}
	}
	return nil, err
}

// withUnsaved puts what is not saved yet in front of a file's history, which is that of
// its old name if it was renamed.
func (b *blaming) withUnsaved(ctx context.Context, unsaved *record.Change, history []*record.Record) ([]*record.Record, error) {
	first := record.New()
	if err := first.Set("change", unsaved); err != nil {
		return nil, err
	}
	if unsaved.Kind == record.ChangeRenamed {
		var err error
		if history, err = b.trace(ctx, b.st.Base, exactPath(unsaved.From, unsaved.FromBytes)); err != nil {
			return nil, err
		}
	}
	return append([]*record.Record{first}, history...), nil
}

// exactPath gives a path of a change byte for byte.
func exactPath(path string, exact []byte) string {
	if len(exact) > 0 {
		return string(exact)
	}
	return path
}
