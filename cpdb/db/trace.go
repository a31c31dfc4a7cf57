package db

import (
	"context"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// ancestry lists a row and those that it came from, newest first, as far as their
// changes are known. A circle, which only a damaged file has, ends where it began.
const ancestry = `WITH RECURSIVE line (id, parent_id) AS (
	SELECT id, parent_id FROM checkpoints WHERE id = ? AND "index" = 'done'
	UNION SELECT c.id, c.parent_id FROM line CROSS JOIN checkpoints c ON c.id = line.parent_id AND c."index" = 'done')
	SELECT id FROM line`

// Trace lists the checkpoints that changed a path, from one of a store (its base
// where at is nil) back to the one that added it, newest first, under the names
// that it had. It ends early at one whose changes are not known.
func (d *DB) Trace(ctx context.Context, store string, at *string, path string) (list []*Entry, err error) {
	err = d.view(ctx, func() error {
		start, err := d.traceStart(store, at)
		if err != nil {
			return err
		}
		line, err := d.ids(ancestry, start)
		if err != nil {
			return err
		}
		list, err = d.trace(line, []byte(path))
		return err
	})
	return list, err
}

func (d *DB) traceStart(store string, at *string) (id int64, err error) {
	s, err := d.store(Ref{Name: store})
	if err != nil {
		return 0, err
	}
	if at == nil {
		return id, d.queryRow("SELECT base_id FROM stores WHERE id = ?", s.ID).Scan(&id)
	}
	c, err := d.versionOf(s, *at)
	if err == nil && c.Status != record.CheckpointReady && c.Status != record.CheckpointPruned {
		err = status.Errorf(status.NoCheckpoint, "checkpoint %q not found in store %q: it is %s", *at, store, c.Status)
	}
	if err != nil {
		return 0, err
	}
	return c.ID, nil
}

func (d *DB) ids(query string, args ...any) ([]int64, error) {
	rows, err := d.query(query, args...)
	return all(rows, err, func(r row) (id int64, err error) { return id, r.Scan(&id) })
}

// touch is a change of a path, or its renaming to another one.
type touch struct {
	checkpoint, seq int64
	kind            string
	away            bool   // it got another name
	from            []byte // its name before
}

// trace walks along the line. All that happened to one name is one question.
func (d *DB) trace(line []int64, path []byte) ([]*Entry, error) {
	list := []*Entry{}
	touched, err := d.touches(path)
	for _, id := range line {
		t, ok := touched[id]
		if err != nil || !ok {
			continue
		}
		e, err := d.traced(t)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if t.kind == record.ChangeAdded {
			break
		}
		if t.kind == record.ChangeRenamed && !t.away {
			if touched, err = d.touches(t.from); err != nil {
				return nil, err
			}
		}
	}
	return list, err
}

// touches gives what happened to a name, by checkpoint: at most one thing in each,
// and that it was taken before that it was given up.
func (d *DB) touches(path []byte) (map[int64]touch, error) {
	rows, err := d.query(`SELECT checkpoint_id, seq, kind, path_id <> p.id AS away, (SELECT path FROM paths WHERE id = from_id)
		FROM paths p CROSS JOIN changes ON path_id = p.id OR from_id = p.id WHERE p.path = ? ORDER BY away DESC`, path)
	found, err := all(rows, err, func(r row) (t touch, err error) {
		return t, r.Scan(&t.checkpoint, &t.seq, &t.kind, &t.away, &t.from)
	})
	byCheckpoint := make(map[int64]touch, len(found))
	for _, t := range found {
		byCheckpoint[t.checkpoint] = t
	}
	return byCheckpoint, err
}

// traced gives the entry of one change.
func (d *DB) traced(t touch) (*Entry, error) {
	q := &query{}
	q.add(selectEntries)
	q.addPaths(0, false)
	q.add(" FROM checkpoints c "+authors+"WHERE c.id = ?", t.checkpoint)
	list, err := d.entries(q)
	if err != nil {
		return nil, err
	}
	changes, err := d.changes("WHERE checkpoint_id = ? AND seq = ?", t.checkpoint, t.seq)
	if err != nil {
		return nil, err
	}
	e := list[0]
	e.Change, e.Paths = changes[0], nil
	return e, nil
}
