package db

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"agentfs.internal/tool/durable"
	"agentfs.internal/tool/record"
)

// Beside the database, files tell of each store and checkpoint, so that a new one can
// be made of them, see Rebuild. They are written in the transaction that they tell of,
// before it is committed: so by one process at a time, and one that dies leaves a file
// that is ahead of its row, never one behind it.

// storeFile is where the store of a name is told of, wherever its bundle lies.
func storeFile(home, name string) string {
	return filepath.Join(home, "stores", name, record.StoreFile)
}

// noteStore writes what is known of a store into its directory, if it has one: agentfs
// makes it, for its lock. A store that is being created is not worth it.
func (d *DB) noteStore(id string) error {
	s, err := d.store(Ref{ID: id})
	if err != nil || s.Status == record.StoreCreating || d.InMemory() {
		return err
	}
	path := storeFile(d.home, s.Name)
	if !isDir(filepath.Dir(path)) {
		return nil
	}
	rec := record.New()
	if err := rec.Set("store", s); err != nil {
		return err
	}
	return writeNote(path, 0o600, rec)
}

// noteCheckpoint writes what is known of a checkpoint beside its bands, if they are
// there.
func (d *DB) noteCheckpoint(s *record.Store, c *record.Checkpoint) error {
	if !isDir(c.Dir) {
		return nil
	}
	rec := record.New()
	if err := errors.Join(rec.Set("store", s), rec.Set("checkpoint", c)); err != nil {
		return err
	}
	return writeNote(filepath.Join(c.Dir, record.CheckpointFile), 0o400, rec)
}

// writeNote writes a record in the place of a file, all of it or nothing, durably. In a
// checkpoint the temporary name is one of those that are no bands, as the file's own.
func writeNote(path string, mode os.FileMode, rec *record.Record) error {
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of one that has died
		return err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = errors.Join(rec.Write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}
