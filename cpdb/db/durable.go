package db

import (
	"context"
	"os"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var durableSteps = defineSteps("checkpoint.durable")

// bootEnv names the machine's boot for tests.
const bootEnv = "AGENTFS_BOOT_ID"

// bootID names the boot of the machine: another one says that what was not durable
// may be gone. "" is one that is not known.
func bootID() string {
	if id := os.Getenv(bootEnv); id != "" {
		return id
	}
	return systemBootID()
}

// volatile are the ready checkpoints that a power cut may take, in the words of the
// index for it.
const volatile = "status = 'ready' AND durable_at IS NULL"

// Volatile is a checkpoint that a power cut would take.
type Volatile struct {
	Checkpoint *record.Checkpoint `json:"checkpoint"`
	Parent     *record.Checkpoint `json:"parent,omitempty"` // the newest before it that none can take; nil where there is none
}

// Volatile lists the checkpoints of a store that are ready and not durable, oldest
// first: those of this boot of the machine.
func (d *DB) Volatile(ctx context.Context, store string) (list []Volatile, err error) {
	err = d.view(ctx, func() error {
		s, err := d.store(Ref{Name: store})
		if err != nil {
			return err
		}
		found, err := d.checkpoints("WHERE store_id = ? AND "+volatile+" AND boot_id = ? ORDER BY version", s.ID, bootID())
		if err != nil {
			return err
		}
		list = make([]Volatile, len(found))
		for i, c := range found {
			parent, err := d.oneCheckpoint(`WHERE store_id = ? AND version < ? AND status = 'ready' AND durable_at IS NOT NULL
				ORDER BY version DESC LIMIT 1`, s.ID, c.Version)
			if err != nil {
				return err
			}
			list[i] = Volatile{c, parent}
		}
		return nil
	})
	return list, err
}

// Doubtful lists those, oldest first, that were made in another boot of the machine: it
// has stopped since, and nobody knows how much of them was written.
func (d *DB) Doubtful(ctx context.Context, s *record.Store) (list []*record.Checkpoint, err error) {
	err = d.view(ctx, func() error {
		list, err = d.checkpoints("WHERE store_id = ? AND "+volatile+" AND boot_id <> ? ORDER BY version", s.ID, bootID())
		return err
	})
	return list, err
}

// SetDurable notes that a ready checkpoint outlives a power cut from now on. It does
// not wait for the disk: if the note is lost, the checkpoint is only looked at again.
func (d *DB) SetDurable(ctx context.Context, at At) (c *record.Checkpoint, err error) {
	if err := d.exec("PRAGMA synchronous = NORMAL"); err != nil {
		return nil, explain(err, d.path)
	}
	err = d.update(ctx, durableSteps, func() error {
		if c, err = d.find(at); err != nil {
			return err
		}
		if c.Status != record.CheckpointReady {
			return status.Errorf(status.NoCheckpoint, "checkpoint v%d is %s", c.Version, c.Status)
		}
		if c.DurableAt == nil {
			t := now()
			c.DurableAt = &t
		}
		c.BootID = ""
		return d.exec("UPDATE checkpoints SET durable_at = ?, boot_id = '' WHERE id = ?", c.DurableAt.UnixMicro(), c.ID)
	})
	return c, err
}
