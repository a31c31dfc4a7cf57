package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agentfs.internal/tool/durable"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	rebuildSteps = defineSteps("rebuild")
	rebuildBuilt = fault.Define("cpdb.rebuild.built") // the new database is complete
	rebuildKept  = fault.Define("cpdb.rebuild.kept")  // the old one has its other name, too
	rebuildDone  = fault.Define("cpdb.rebuild.done")  // the new one is in place
)

// Rebuild makes a new database below home from the files that tell of stores and
// checkpoints, and puts it in the place of the old one, which keeps another name. One
// that is sound is refused unless force is set. It gives the stores that are in the new
// one, and tells warn what it could not use.
func Rebuild(ctx context.Context, home string, force bool, warn func(format string, args ...any)) ([]*record.Store, error) {
	path := filepath.Join(home, File)
	if err := refuseSound(ctx, home, path, force); err != nil {
		return nil, err
	}
	unlock, err := lockDir(ctx, home)
	if err != nil {
		return nil, err
	}
	defer unlock()
	found := &finding{home: home, warn: warn}
	if err := found.look(); err != nil {
		return nil, err
	}
	fresh := path + ".new"
	if err := build(ctx, fresh); err != nil {
		return nil, err
	}
	stores, err := found.writeTo(ctx, fresh)
	if err != nil {
		return nil, err
	}
	if err := rebuildBuilt.Reach(); err != nil {
		return nil, err
	}
	kept, err := keepOld(path)
	if err != nil {
		return nil, err
	}
	if kept != "" {
		warn("the old database is kept as %s; what it knew of pruned checkpoints is lost", kept)
	}
	if err := rebuildKept.Reach(); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, path); err != nil {
		return nil, err
	}
	if err := rebuildDone.Reach(); err != nil {
		return nil, err
	}
	return stores, durable.SyncDir(home)
}

// refuseSound refuses a database that is whole, and one that cannot be told to be
// damaged. What is in its log is put into the file, which is to be kept.
func refuseSound(ctx context.Context, home, path string, force bool) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	d, err := openFile(ctx, home, path)
	if err != nil {
		if force || errors.As(err, new(damagedError)) {
			return nil
		}
		return err
	}
	problems, err := d.checkFile()
	err = errors.Join(err, d.disconnect())
	if force || err != nil || len(problems) > 0 {
		return nil
	}
	return status.Errorf(status.General, "%s is sound", path).WithHint("cpdb rebuild --force")
}

// keepOld gives the old database another name, too, which it returns, and its log none
// but that: it would be taken for the log of the new one.
func keepOld(path string) (kept string, err error) {
	kept = path + ".bad-" + now().Format("20060102T150405.000000Z")
	if err := os.Link(path, kept); errors.Is(err, fs.ErrNotExist) {
		kept = ""
	} else if err != nil {
		return "", err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+suffix, cmp.Or(kept, path+".bad")+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return kept, durable.SyncDir(filepath.Dir(path))
}

// writeTo writes what was found into the file of a new database.
func (f *finding) writeTo(ctx context.Context, path string) ([]*record.Store, error) {
	d := &DB{home: f.home, path: path}
	if err := d.connect(ctx, dsn(path, "rw")); err != nil {
		return nil, err
	}
	stores, err := f.write(ctx, d)
	return stores, errors.Join(err, d.disconnect())
}

func (f *finding) write(ctx context.Context, d *DB) (stores []*record.Store, err error) {
	err = d.update(ctx, rebuildSteps, func() error {
		for _, s := range f.stores {
			if err := d.insertFound(s); err != nil {
				return fmt.Errorf("store %q: %w", s.Name, err)
			}
		}
		if err := d.settleParents(); err != nil {
			return err
		}
		for _, s := range f.stores {
			if err := d.settleBase(s); err != nil {
				return err
			}
		}
		stores, err = d.stores("ORDER BY name")
		return err
	})
	return stores, err
}

func (d *DB) insertFound(s *foundStore) error {
	if err := d.insertStore(&s.Store, 0); err != nil {
		return err
	}
	for _, c := range s.checkpoints {
		if err := d.insertCheckpoint(c); err != nil {
			return err
		}
	}
	return nil
}

// insertCheckpoint writes a row with the id that it had, if that is free.
func (d *DB) insertCheckpoint(c *record.Checkpoint) error {
	meta, err := newMetaText(c.Meta)
	if err != nil {
		return err
	}
	return d.exec(`INSERT INTO checkpoints (id, store_id, version, parent, parent_id, dir, message, status, created_at,
		method, bands, bytes, changed_bands, duration_ms, pinned, durable_at, boot_id, agent, action, session, prompt, "before", meta)
		VALUES ((SELECT ?1 WHERE ?1 > 0 AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE id = ?1)),
			?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.StoreID, c.Version, c.Parent, c.ParentID, c.Dir, c.Message, c.Status, c.CreatedAt.UnixMicro(),
		c.Method, c.Bands, c.Bytes, c.ChangedBands, c.DurationMS, c.Pinned, micro(c.DurableAt), c.BootID,
		c.Agent, c.Action, c.Session, c.Prompt, c.Before, meta)
}

// settleParents makes every parent one that there is: where it has been deleted, the
// newest one before it.
func (d *DB) settleParents() error {
	for _, query := range []string{
		`UPDATE checkpoints SET parent_id = coalesce((SELECT p.id FROM checkpoints p WHERE p.store_id = checkpoints.store_id
			AND p.version <= checkpoints.parent AND p.version < checkpoints.version ORDER BY p.version DESC LIMIT 1), 0) WHERE parent > 0`,
		`UPDATE checkpoints SET parent_id = 0 WHERE parent = 0 AND NOT EXISTS (SELECT 1 FROM checkpoints p
			WHERE p.id = checkpoints.parent_id AND p.store_id <> checkpoints.store_id)`,
		`UPDATE checkpoints SET parent = coalesce((SELECT p.version FROM checkpoints p
			WHERE p.id = checkpoints.parent_id AND p.store_id = checkpoints.store_id), 0)`,
	} {
		if err := d.exec(query); err != nil {
			return err
		}
	}
	return nil
}

// settleBase finds what the present of a store came from: the newest checkpoint made
// since its file was written, or the base that the file names, or what it was forked
// from.
func (d *DB) settleBase(s *foundStore) error {
	base, err := d.origin(s.ForkedFrom)
	if err != nil {
		return err
	}
	for _, c := range s.checkpoints { // by version
		if c.Version == s.base || c.Version >= s.noted {
			row, err := d.checkpoint(s.ID, c.Version)
			if err != nil {
				return err
			}
			base = row.ID
		}
	}
	return d.exec(updateBase, base, s.ID)
}
