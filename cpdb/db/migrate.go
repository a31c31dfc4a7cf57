package db

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var migrateSteps = defineSteps("migrate")

// upgrade brings a file that exists to the newest schema, and refuses a file
// that is not ours or that a newer cpdb has made.
func (d *DB) upgrade(ctx context.Context) error {
	id, version, mode, err := d.header(ctx)
	switch {
	case err != nil:
		return err
	case id != applicationID:
		return damaged("%s is not a database of agentfs", d.path)
	case version > len(migrations):
		return status.Errorf(status.General, "%s has schema version %d, this cpdb knows %d", d.path, version, len(migrations)).
			WithHint("use the newer cpdb, the one that made it")
	case mode != "wal" && !d.frozen: // a file that was dumped and loaded again has lost it
		if err := retry(ctx, d.useWAL); err != nil {
			return err
		}
	}
	if version == len(migrations) {
		return nil
	}
	if err := d.migrate(ctx, migrations); err != nil {
		return err
	}
	return d.noteAll(ctx)
}

// noteAll tells of what was there before anything told of it.
func (d *DB) noteAll(ctx context.Context) error {
	return d.update(ctx, migrateSteps, func() error {
		stores, err := d.stores("")
		if err != nil {
			return err
		}
		for _, s := range stores {
			if err := d.noteNew(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// noteNew tells of a store and of those of its checkpoints that nothing tells of yet.
func (d *DB) noteNew(s *record.Store) error {
	if err := d.noteStore(s.ID); err != nil {
		return err
	}
	list, err := d.checkpoints("WHERE store_id = ? AND status = 'ready'", s.ID)
	if err != nil {
		return err
	}
	for _, c := range list {
		if _, err := os.Lstat(filepath.Join(c.Dir, record.CheckpointFile)); err == nil {
			continue
		}
		if err := d.noteCheckpoint(s, c); err != nil {
			return err
		}
	}
	return nil
}

func (d *DB) header(ctx context.Context) (id, version int, mode string, err error) {
	err = retry(ctx, func() error {
		if err := d.queryRow("PRAGMA application_id").Scan(&id); err != nil {
			return err
		}
		if err := d.queryRow("PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		return d.queryRow("PRAGMA journal_mode").Scan(&mode)
	})
	return id, version, mode, err
}

// migrate runs the migrations that the file lacks, each in a transaction of its
// own. The version is read again under the write lock: of several processes
// that see an old file at once, one migrates and the others find it done.
func (d *DB) migrate(ctx context.Context, list []string) error {
	for i, script := range list {
		err := d.update(ctx, migrateSteps, func() error {
			var version int
			if err := d.queryRow("PRAGMA user_version").Scan(&version); err != nil || version > i {
				return err
			}
			if err := d.exec(script); err != nil {
				return err
			}
			return d.exec(fmt.Sprintf("PRAGMA user_version = %d", i+1))
		})
		if err != nil {
			return fmt.Errorf("schema version %d: %w", i+1, err)
		}
	}
	return nil
}
