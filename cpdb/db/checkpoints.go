package db

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	beginSteps  = defineSteps("checkpoint.begin")
	commitSteps = defineSteps("checkpoint.commit")
	abortSteps  = defineSteps("checkpoint.abort")
	markSteps   = defineSteps("checkpoint.rm")
	pinSteps    = defineSteps("checkpoint.set")
)

// Begun is what Begin gives.
type Begun struct {
	Store      *record.Store
	Checkpoint *record.Checkpoint   // pending
	Leftovers  []*record.Checkpoint // older ones that are not ready
}

// Begin allots the next version of a ready store to a pending checkpoint.
func (d *DB) Begin(ctx context.Context, store, message string) (*Begun, error) {
	var b Begun
	if err := d.exec("PRAGMA synchronous = NORMAL"); err != nil { // saves a flush, see the package's comment
		return nil, explain(err, d.path)
	}
	err := d.update(ctx, beginSteps, func() (err error) {
		if b.Store, err = d.store(Ref{Name: store}); err != nil {
			return err
		}
		if b.Store.Status != record.StoreReady {
			return status.Errorf(status.General, "store %q is %s", store, b.Store.Status).
				WithHint("wait for the command that is at it; if it has died: agentfs open %s", store)
		}
		if b.Leftovers, err = d.checkpoints("WHERE store_id = ? AND status <> 'ready' ORDER BY version", b.Store.ID); err != nil {
			return err
		}
		b.Checkpoint, err = d.insertPending(b.Store, message)
		return err
	})
	return &b, err
}

func (d *DB) insertPending(s *record.Store, message string) (*record.Checkpoint, error) {
	c := record.Checkpoint{
		StoreID:   s.ID,
		Parent:    s.Latest,
		Message:   message,
		Status:    record.CheckpointPending,
		CreatedAt: now(),
	}
	c.Version, c.Dir = freeVersion(s)
	s.NextVersion = c.Version + 1
	if err := d.exec("UPDATE stores SET next_version = ? WHERE id = ?", s.NextVersion, s.ID); err != nil {
		return nil, err
	}
	err := d.queryRow(`INSERT INTO checkpoints (store_id, version, parent, dir, message, status, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		c.StoreID, c.Version, c.Parent, c.Dir, c.Message, c.Status, c.CreatedAt.UnixMicro()).Scan(&c.ID)
	return &c, err
}

// freeVersion gives the next version whose directory does not exist. One does
// only if the database is older than the directories, after it was restored
// from a copy or lost its last moment in a power cut; its version stays taken.
func freeVersion(s *record.Store) (version int64, dir string) {
	for version = s.NextVersion; ; version++ {
		dir = filepath.Join(checkpointsDir(s), formatVersion(version))
		if _, err := os.Lstat(dir); err != nil {
			return version, dir
		}
	}
}

func checkpointsDir(s *record.Store) string {
	return filepath.Join(filepath.Dir(s.BundlePath), "checkpoints")
}

// At names a checkpoint: by its store's id and its number, as in a record, or,
// without them, by its store's name and its version as people write it.
type At struct {
	StoreID string
	Number  int64
	Store   string
	Version string
}

// find gives the checkpoint, of any status, or fails with the status for "not
// found".
func (d *DB) find(at At) (*record.Checkpoint, error) {
	if at.StoreID == "" {
		s, err := d.store(Ref{Name: at.Store})
		if err != nil {
			return nil, err
		}
		return d.versionOf(s, at.Version)
	}
	c, err := d.checkpoint(at.StoreID, at.Number)
	if err == nil && c == nil {
		return nil, noCheckpoint(formatVersion(at.Number), cmp.Or(at.Store, at.StoreID))
	}
	return c, err
}

// Warm does all of Commit's work that can be done before it is known what is
// to be committed: opening the log, reading the schema, preparing statements.
func (d *DB) Warm() error {
	if _, err := d.checkpoint("", 0); err != nil {
		return explain(err, d.path)
	}
	stmt, err := d.conn.PrepareContext(context.Background(), updateReady)
	if err != nil {
		return explain(err, d.path)
	}
	return stmt.Close() // which keeps it for its next use
}

const updateReady = `UPDATE checkpoints
	SET status = ?, method = ?, bands = ?, bytes = ?, changed_bands = ?, duration_ms = ? WHERE id = ?`

// Commit makes a pending checkpoint ready.
func (d *DB) Commit(ctx context.Context, at At, clone record.Clone) (c *record.Checkpoint, err error) {
	err = d.update(ctx, commitSteps, func() error {
		if c, err = d.find(at); err != nil {
			return err
		}
		if c.Status != record.CheckpointPending {
			return status.Errorf(status.General, "checkpoint v%d is %s, not pending", c.Version, c.Status)
		}
		c.Status = record.CheckpointReady
		c.Method, c.Bands, c.Bytes, c.ChangedBands = clone.Method, clone.Bands, clone.Bytes, clone.ChangedBands
		c.DurationMS = max(0, float64(now().Sub(c.CreatedAt).Microseconds())/1000) // a clock may be set back
		return d.exec(updateReady, c.Status, c.Method, c.Bands, c.Bytes, c.ChangedBands, c.DurationMS, c.ID)
	})
	return c, err
}

// Abort removes the row of a checkpoint that is not ready, and gives it as it
// was.
func (d *DB) Abort(ctx context.Context, at At) (c *record.Checkpoint, err error) {
	err = d.update(ctx, abortSteps, func() error {
		if c, err = d.find(at); err != nil {
			return err
		}
		if c.Status == record.CheckpointReady {
			return status.Errorf(status.General, "checkpoint v%d is ready", c.Version).
				WithHint("agentfs checkpoint delete v%d", c.Version)
		}
		return d.exec("DELETE FROM checkpoints WHERE id = ?", c.ID)
	})
	return c, err
}

// MarkDeleting marks a checkpoint whose files are about to go.
func (d *DB) MarkDeleting(ctx context.Context, store, version string) (s *record.Store, c *record.Checkpoint, err error) {
	err = d.update(ctx, markSteps, func() error {
		if s, err = d.store(Ref{Name: store}); err != nil {
			return err
		}
		if c, err = d.versionOf(s, version); err != nil {
			return err
		}
		c.Status = record.CheckpointDeleting
		if err := d.exec("UPDATE checkpoints SET status = ? WHERE id = ?", c.Status, c.ID); err != nil {
			return err
		}
		s, err = d.store(Ref{ID: s.ID}) // its counts have changed
		return err
	})
	return s, c, err
}

// SetPinned says of a ready checkpoint whether it may be pruned.
func (d *DB) SetPinned(ctx context.Context, store, version string, pinned bool) (s *record.Store, c *record.Checkpoint, err error) {
	err = d.update(ctx, pinSteps, func() error {
		if s, c, err = d.readyVersion(store, version); err != nil {
			return err
		}
		c.Pinned = pinned
		return d.exec("UPDATE checkpoints SET pinned = ? WHERE id = ?", c.Pinned, c.ID)
	})
	return s, c, err
}

// readyVersion finds a checkpoint that is ready.
func (d *DB) readyVersion(store, version string) (*record.Store, *record.Checkpoint, error) {
	s, err := d.store(Ref{Name: store})
	if err != nil {
		return nil, nil, err
	}
	c, err := d.versionOf(s, version)
	if err == nil && c.Status != record.CheckpointReady {
		err = status.Errorf(status.NoCheckpoint, "checkpoint %q not found in store %q: it is %s", version, store, c.Status)
	}
	return s, c, err
}

// Checkpoint finds a checkpoint; one that is not ready only with all.
func (d *DB) Checkpoint(ctx context.Context, store, version string, all bool) (s *record.Store, c *record.Checkpoint, err error) {
	err = d.view(ctx, func() error {
		if !all {
			s, c, err = d.readyVersion(store, version)
			return err
		}
		if s, err = d.store(Ref{Name: store}); err != nil {
			return err
		}
		c, err = d.versionOf(s, version)
		return err
	})
	return s, c, err
}

// Checkpoints lists those of a store, newest first: the ready ones or all, at
// most limit of them, 0 for no limit.
func (d *DB) Checkpoints(ctx context.Context, store string, all bool, limit int) (list []*record.Checkpoint, err error) {
	err = d.view(ctx, func() error {
		s, err := d.store(Ref{Name: store})
		if err != nil {
			return err
		}
		list, err = d.checkpoints("WHERE store_id = ? AND (? OR status = 'ready') ORDER BY version DESC LIMIT ?",
			s.ID, all, orNone(limit))
		return err
	})
	return list, err
}

// orNone turns 0 into SQL's word for "no limit".
func orNone(limit int) int {
	if limit == 0 {
		return -1
	}
	return limit
}
