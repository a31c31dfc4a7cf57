package db

import (
	"context"
	"fmt"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var bringSteps = defineSteps("checkpoint.add")

// AddCheckpoints makes the rows of checkpoints that came from elsewhere, complete and
// durable, to a store that is being created: all or none. They keep their versions,
// and the newest is the store's base then. A parent that has not come with them is the
// newest one before it.
func (d *DB) AddCheckpoints(ctx context.Context, ref Ref, list []*record.Checkpoint) error {
	return d.update(ctx, bringSteps, func() error {
		s, err := d.store(ref)
		if err != nil {
			return err
		}
		if s.Status != record.StoreCreating {
			return status.Errorf(status.General, "store %q is %s: checkpoints are only added to one that is being created", s.Name, s.Status)
		}
		for _, c := range list {
			err := d.addReady(s, c)
			if err == nil {
				err = d.noteCheckpoint(s, c) // what came with it tells of where it came from
			}
			if err != nil {
				return fmt.Errorf("checkpoint v%d: %w", c.Version, err)
			}
		}
		return d.exec(`UPDATE stores SET
			next_version = max(next_version, (SELECT coalesce(max(version), 0) + 1 FROM checkpoints WHERE store_id = ?1)),
			base_id = coalesce((SELECT id FROM checkpoints WHERE store_id = ?1 ORDER BY version DESC LIMIT 1), 0) WHERE id = ?1`, s.ID)
	})
}

// addReady makes one row, and fills in what hangs on this database. Parents come
// before their children.
func (d *DB) addReady(s *record.Store, c *record.Checkpoint) error {
	meta, err := newMetaText(c.Meta)
	if err != nil {
		return err
	}
	durable := now()
	c.StoreID, c.Dir, c.Status = s.ID, checkpointDir(s, c.Version), record.CheckpointReady
	c.DurableAt, c.BootID, c.Index, c.Changes, c.LinesAdded, c.LinesDeleted = &durable, "", record.IndexNone, 0, 0, 0
	parent, err := d.oneCheckpoint("WHERE store_id = ? AND version <= ? AND version < ? ORDER BY version DESC LIMIT 1", s.ID, c.Parent, c.Version)
	if err != nil {
		return err
	}
	c.Parent, c.ParentID = 0, 0
	if parent != nil {
		c.Parent, c.ParentID = parent.Version, parent.ID
	}
	return d.queryRow(`INSERT INTO checkpoints (store_id, version, parent, parent_id, dir, message, status, created_at,
		method, bands, bytes, changed_bands, duration_ms, pinned, durable_at, agent, action, session, prompt, "before", meta)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		c.StoreID, c.Version, c.Parent, c.ParentID, c.Dir, c.Message, c.Status, c.CreatedAt.UnixMicro(),
		c.Method, c.Bands, c.Bytes, c.ChangedBands, c.DurationMS, c.Pinned, durable.UnixMicro(),
		c.Agent, c.Action, c.Session, c.Prompt, c.Before, meta).Scan(&c.ID)
}
