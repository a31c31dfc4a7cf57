package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	beginSteps  = defineSteps("checkpoint.begin")
	commitSteps = defineSteps("checkpoint.commit")
	pinSteps    = defineSteps("checkpoint.set")
)

// Begun is what Begin gives.
type Begun struct {
	Store      *record.Store
	Checkpoint *record.Checkpoint   // pending
	Leftovers  []*record.Checkpoint // older ones that are pending or deleting
}

const unfinished = "status IN ('pending', 'deleting')" // in the words of the index for it

// Begin allots the next version of a ready store to a pending checkpoint, whose
// parent is the store's base. A session goes on with the prompt that it had.
func (d *DB) Begin(ctx context.Context, store, message string, why record.Causality) (*Begun, error) {
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
		if b.Leftovers, err = d.checkpoints("WHERE store_id = ? AND "+unfinished+" ORDER BY version", b.Store.ID); err != nil {
			return err
		}
		if why.Session != "" && why.Prompt == "" {
			if why.Prompt, err = d.promptOf(b.Store.ID, why.Session); err != nil {
				return err
			}
		}
		b.Checkpoint, err = d.insertPending(b.Store, message, why)
		return err
	})
	return &b, err
}

// promptOf gives the last prompt of a session, "" where it had none.
func (d *DB) promptOf(storeID, session string) (prompt string, err error) {
	err = d.queryRow(`SELECT prompt FROM checkpoints WHERE store_id = ? AND session = ? AND session <> '' AND prompt <> ''
		ORDER BY version DESC LIMIT 1`, storeID, session).Scan(&prompt)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return prompt, err
}

func (d *DB) insertPending(s *record.Store, message string, why record.Causality) (*record.Checkpoint, error) {
	c := record.Checkpoint{
		StoreID:   s.ID,
		Parent:    s.Base,
		Causality: why,
		Message:   message,
		Status:    record.CheckpointPending,
		CreatedAt: now(),
		BootID:    bootID(),
	}
	c.Version, c.Dir = freeVersion(s)
	s.NextVersion = c.Version + 1
	if err := d.exec("UPDATE stores SET next_version = ? WHERE id = ?", s.NextVersion, s.ID); err != nil {
		return nil, err
	}
	meta, err := newMetaText(c.Meta)
	if err != nil {
		return nil, err
	}
	err = d.queryRow(`INSERT INTO checkpoints (store_id, version, parent, parent_id, dir, message, status, created_at, boot_id,
		agent, action, session, prompt, "before", meta)
		VALUES (?1, ?, ?, (SELECT base_id FROM stores WHERE id = ?1), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id, parent_id`,
		c.StoreID, c.Version, c.Parent, c.Dir, c.Message, c.Status, c.CreatedAt.UnixMicro(), c.BootID,
		c.Agent, c.Action, c.Session, c.Prompt, c.Before, meta).Scan(&c.ID, &c.ParentID)
	return &c, err
}

// freeVersion gives the next version whose directory does not exist. One does
// only if the database is older than the directories, after it was restored
// from a copy or lost its last moment in a power cut; its version stays taken.
func freeVersion(s *record.Store) (version int64, dir string) {
	for version = s.NextVersion; ; version++ {
		dir = checkpointDir(s, version)
		if _, err := os.Lstat(dir); err != nil {
			return version, dir
		}
	}
}

func checkpointDir(s *record.Store, version int64) string {
	return filepath.Join(checkpointsDir(s), formatVersion(version))
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
	for _, query := range []string{updateReady, updateBase} {
		stmt, err := d.conn.PrepareContext(context.Background(), query)
		if err == nil {
			err = stmt.Close() // which keeps it for its next use
		}
		if err != nil {
			return explain(err, d.path)
		}
	}
	return nil
}

const updateReady = `UPDATE checkpoints
	SET status = ?, method = ?, bands = ?, bytes = ?, changed_bands = ?, duration_ms = ? WHERE id = ?`

const updateBase = "UPDATE stores SET base_id = ? WHERE id = ?"

// Commit makes a pending checkpoint ready: the present comes from it now.
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
		if err := d.exec(updateReady, c.Status, c.Method, c.Bands, c.Bytes, c.ChangedBands, c.DurationMS, c.ID); err != nil {
			return err
		}
		return d.exec(updateBase, c.ID, c.StoreID)
	})
	return c, err
}

// SetPinned says of a ready checkpoint whether it may be pruned.
func (d *DB) SetPinned(ctx context.Context, store, version string, pinned bool) error {
	return d.update(ctx, pinSteps, func() error {
		s, c, err := d.readyVersion(store, version)
		if err != nil {
			return err
		}
		c.Pinned = pinned
		if err := d.exec("UPDATE checkpoints SET pinned = ? WHERE id = ?", c.Pinned, c.ID); err != nil {
			return err
		}
		return d.noteCheckpoint(s, c)
	})
}

// readyVersion finds a checkpoint that is ready.
func (d *DB) readyVersion(store, version string) (*record.Store, *record.Checkpoint, error) {
	s, err := d.store(Ref{Name: store})
	if err != nil {
		return nil, nil, err
	}
	c, err := d.readyVersionOf(s, version)
	return s, c, err
}

func (d *DB) readyVersionOf(s *record.Store, version string) (*record.Checkpoint, error) {
	c, err := d.versionOf(s, version)
	if err == nil && c.Status != record.CheckpointReady {
		err = status.Errorf(status.NoCheckpoint, "checkpoint %q not found in store %q: it is %s", version, s.Name, c.Status)
	}
	return c, err
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
		which := "AND status = 'ready' "
		if all {
			which = ""
		}
		list, err = d.checkpoints("WHERE store_id = ? "+which+"ORDER BY version DESC LIMIT ?", s.ID, orNone(limit))
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
