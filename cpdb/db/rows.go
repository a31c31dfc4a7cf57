package db

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

const selectStores = `SELECT id, name, status, bundle_path, mount_path, size_bytes, created_at, mounted_at, next_version,
	(SELECT count(*) FROM checkpoints c WHERE c.store_id = s.id AND c.status = 'ready'),
	coalesce((SELECT version FROM checkpoints c WHERE c.store_id = s.id AND c.status = 'ready'
		ORDER BY version DESC LIMIT 1), 0), forked_from,
	coalesce((SELECT version FROM checkpoints c WHERE c.id = s.base_id AND c.store_id = s.id), 0)
	FROM stores s `

const checkpointColumns = `c.id, c.store_id, c.version, c.parent, c.parent_id, c.dir, c.message, c.status, c.created_at,
	c.method, c.bands, c.bytes, c.changed_bands, c.duration_ms, c.pinned, c.durable_at, c.boot_id,
	c.agent, c.action, c.session, c.prompt, c."before", c.meta,
	c."index", c.changes, c.lines_added, c.lines_deleted`

const selectCheckpoints = "SELECT " + checkpointColumns + " FROM checkpoints c "

// row is what *sql.Row and *sql.Rows have in common.
type row interface{ Scan(into ...any) error }

func scanStore(r row) (*record.Store, error) {
	var s record.Store
	var created int64
	var mounted sql.NullInt64
	err := r.Scan(&s.ID, &s.Name, &s.Status, &s.BundlePath, &s.MountPath, &s.SizeBytes,
		&created, &mounted, &s.NextVersion, &s.Checkpoints, &s.Latest, &s.ForkedFrom, &s.Base)
	if err != nil {
		return nil, err
	}
	s.CreatedAt, s.MountedAt = fromMicro(created), maybe(mounted)
	return &s, nil
}

// micro is what such a column holds.
func micro(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

// maybe gives the time of a column that may be empty.
func maybe(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	t := fromMicro(us.Int64)
	return &t
}

func scanCheckpoint(r row) (*record.Checkpoint, error) { return scanCheckpointAnd(r) }

// scanCheckpointAnd scans the columns of a checkpoint and those that follow them.
func scanCheckpointAnd(r row, more ...any) (*record.Checkpoint, error) {
	var c record.Checkpoint
	var created int64
	var durable sql.NullInt64
	var meta metaText
	err := r.Scan(append([]any{&c.ID, &c.StoreID, &c.Version, &c.Parent, &c.ParentID, &c.Dir, &c.Message, &c.Status, &created,
		&c.Method, &c.Bands, &c.Bytes, &c.ChangedBands, &c.DurationMS, &c.Pinned, &durable, &c.BootID,
		&c.Agent, &c.Action, &c.Session, &c.Prompt, &c.Before, &meta,
		&c.Index, &c.Changes, &c.LinesAdded, &c.LinesDeleted}, more...)...)
	if err != nil {
		return nil, err
	}
	c.CreatedAt = fromMicro(created)
	c.DurableAt = maybe(durable)
	c.Meta, err = meta.parse()
	return &c, err
}

// metaText is what the column meta holds: JSON, empty for none.
type metaText string

func newMetaText(meta map[string]string) (metaText, error) {
	if len(meta) == 0 {
		return "", nil
	}
	text, err := json.Marshal(meta)
	return metaText(text), err
}

func (t metaText) parse() (meta map[string]string, err error) {
	if t == "" {
		return nil, nil
	}
	return meta, json.Unmarshal([]byte(t), &meta)
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
	return d.oneCheckpoint("WHERE store_id = ? AND version = ?", storeID, version)
}

// oneCheckpoint gives nil where there is none.
func (d *DB) oneCheckpoint(where string, args ...any) (*record.Checkpoint, error) {
	c, err := scanCheckpoint(d.queryRow(selectCheckpoints+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return c, err
}

func (d *DB) checkpoints(where string, args ...any) ([]*record.Checkpoint, error) {
	rows, err := d.query(selectCheckpoints+where, args...)
	return all(rows, err, scanCheckpoint)
}
