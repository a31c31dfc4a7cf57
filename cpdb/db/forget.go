package db

import (
	"context"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	abortSteps = defineSteps("checkpoint.abort")
	markSteps  = defineSteps("checkpoint.rm")
)

// MarkDeleting marks a checkpoint whose files are about to go. With prune its row
// is to stay, as history.
func (d *DB) MarkDeleting(ctx context.Context, store, version string, prune bool) (s *record.Store, c *record.Checkpoint, err error) {
	err = d.update(ctx, markSteps, func() error {
		if s, err = d.store(Ref{Name: store}); err != nil {
			return err
		}
		if c, err = d.versionOf(s, version); err != nil {
			return err
		}
		if prune && c.Status == record.CheckpointPending {
			return status.Errorf(status.General, "checkpoint v%d is pending: it has no history to keep", c.Version)
		}
		c.Status = record.CheckpointDeleting
		if err := d.exec("UPDATE checkpoints SET status = ?, prune = ? WHERE id = ?", c.Status, prune, c.ID); err != nil {
			return err
		}
		s, err = d.store(Ref{ID: s.ID}) // its counts have changed
		return err
	})
	return s, c, err
}

// Abort ends a checkpoint that is pending or deleting, and gives it as it was: its
// row goes, unless it was marked to stay as history.
func (d *DB) Abort(ctx context.Context, at At) (c *record.Checkpoint, err error) {
	err = d.update(ctx, abortSteps, func() error {
		if c, err = d.find(at); err != nil {
			return err
		}
		if c.Status == record.CheckpointReady || c.Status == record.CheckpointPruned {
			return status.Errorf(status.General, "checkpoint v%d is %s", c.Version, c.Status).
				WithHint("agentfs checkpoint delete v%d", c.Version)
		}
		var prune bool
		if err := d.queryRow("SELECT prune FROM checkpoints WHERE id = ?", c.ID).Scan(&prune); err != nil {
			return err
		}
		if prune {
			c.Status = record.CheckpointPruned
			err = d.prune(c)
		} else {
			err = d.erase(c)
		}
		if err != nil {
			return err
		}
		return d.noteForgotten(c)
	})
	return c, err
}

// noteForgotten sees to it that without the row, too, the version is not used again, and
// the store's base is known: by the file that tells of the store, where no later
// checkpoint tells.
func (d *DB) noteForgotten(c *record.Checkpoint) error {
	var later bool
	err := d.queryRow(`SELECT EXISTS (SELECT 1 FROM checkpoints WHERE store_id = ? AND version > ? AND status = 'ready')`,
		c.StoreID, c.Version).Scan(&later)
	if err != nil {
		return err
	}
	s, err := d.store(Ref{ID: c.StoreID})
	if err != nil || later && s.Base > c.Version {
		return err
	}
	return d.noteStore(s.ID)
}

// prune makes a checkpoint history. What it changed and nobody has looked at, or not
// to the end, can not be found out any more.
func (d *DB) prune(c *record.Checkpoint) error {
	if c.Index == record.IndexNone {
		c.Index = record.IndexLost
		if err := d.exec("DELETE FROM changes WHERE checkpoint_id = ?", c.ID); err != nil {
			return err
		}
	}
	return d.exec(`UPDATE checkpoints SET status = ?, prune = 0, "index" = ? WHERE id = ?`, c.Status, c.Index, c.ID)
}

// erase removes a row. Its children become its parent's, and what they changed has
// to be found out anew: it includes now what the checkpoint itself had changed. Of
// a pruned child that cannot be: what is known of it stays, as incomplete.
func (d *DB) erase(c *record.Checkpoint) error {
	for _, query := range []string{
		"UPDATE stores SET base_id = ?2 WHERE base_id = ?1",
		"DELETE FROM changes WHERE checkpoint_id IN (SELECT id FROM checkpoints WHERE parent_id = ?1 AND status <> 'pruned')",
		`UPDATE checkpoints SET "index" = '', changes = 0, lines_added = 0, lines_deleted = 0 WHERE parent_id = ?1 AND status <> 'pruned'`,
		`UPDATE checkpoints SET "index" = 'lost' WHERE parent_id = ?1 AND status = 'pruned'`,
		`UPDATE checkpoints SET parent_id = ?2, parent = coalesce((SELECT p.version FROM checkpoints p
			WHERE p.id = ?2 AND p.store_id = checkpoints.store_id), 0) WHERE parent_id = ?1`,
		"DELETE FROM checkpoints WHERE id = ?1",
	} {
		if err := d.exec(query, c.ID, c.ParentID); err != nil {
			return err
		}
	}
	return nil
}
