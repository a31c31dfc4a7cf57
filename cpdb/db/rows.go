package db

import (
	"cmp"
	"database/sql"
	"errors"
	"time"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

const selectStores = `SELECT id, name, status, bundle_path, mount_path, size_bytes, created_at, mounted_at, next_version,
	(SELECT count(*) FROM checkpoints c WHERE c.store_id = s.id) -
	(SELECT count(*) FROM checkpoints c WHERE c.store_id = s.id AND c.status <> 'ready'),
	coalesce((SELECT version FROM checkpoints c WHERE c.store_id = s.id AND c.status = 'ready'
		ORDER BY version DESC LIMIT 1), 0), forked_from
	FROM stores s `

const selectCheckpoints = `SELECT id, store_id, version, parent, dir, message, status, created_at,
	method, bands, bytes, changed_bands, duration_ms, pinned
	FROM checkpoints `

// row is what *sql.Row and *sql.Rows have in common.
type row interface{ Scan(into ...any) error }

func scanStore(r row) (*record.Store, error) {
	var s record.Store
	var created int64
	var mounted sql.NullInt64
	err := r.Scan(&s.ID, &s.Name, &s.Status, &s.BundlePath, &s.MountPath, &s.SizeBytes,
		&created, &mounted, &s.NextVersion, &s.Checkpoints, &s.Latest, &s.ForkedFrom)
	if err != nil {
		return nil, err
	}
	s.CreatedAt = fromMicro(created)
	if mounted.Valid {
		s.MountedAt = new(time.Time)
		*s.MountedAt = fromMicro(mounted.Int64)
	}
	return &s, nil
}

func scanCheckpoint(r row) (*record.Checkpoint, error) {
	var c record.Checkpoint
	var created int64
	err := r.Scan(&c.ID, &c.StoreID, &c.Version, &c.Parent, &c.Dir, &c.Message, &c.Status, &created,
		&c.Method, &c.Bands, &c.Bytes, &c.ChangedBands, &c.DurationMS, &c.Pinned)
	if err != nil {
		return nil, err
	}
	c.CreatedAt = fromMicro(created)
	return &c, nil
}

// all reads every row; the list is never nil.
func all[T any](rows *sql.Rows, err error, scan func(row) (T, error)) ([]T, error) {
	list := []T{}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// store finds a store or fails with the status for "not found".
func (d *DB) store(ref Ref) (*record.Store, error) {
	where, key := "WHERE id = ?", ref.ID
	if ref.ID == "" {
		where, key = "WHERE name = ? COLLATE BINARY", ref.Name
	}
	s, err := d.oneStore(where, key)
	if err == nil && s == nil {
		err = status.Errorf(status.NoStore, "store %q not found", cmp.Or(ref.Name, ref.ID)).WithHint("agentfs list")
	}
	return s, err
}

// oneStore gives nil where there is none.
func (d *DB) oneStore(where string, args ...any) (*record.Store, error) {
	s, err := scanStore(d.queryRow(selectStores+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return s, err
}

func (d *DB) stores(where string, args ...any) ([]*record.Store, error) {
	rows, err := d.query(selectStores+where, args...)
	return all(rows, err, scanStore)
}

// checkpoint gives nil where there is none.
func (d *DB) checkpoint(storeID string, version int64) (*record.Checkpoint, error) {
	c, err := scanCheckpoint(d.queryRow(selectCheckpoints+"WHERE store_id = ? AND version = ?", storeID, version))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return c, err
}

func (d *DB) checkpoints(where string, args ...any) ([]*record.Checkpoint, error) {
	rows, err := d.query(selectCheckpoints+where, args...)
	return all(rows, err, scanCheckpoint)
}
