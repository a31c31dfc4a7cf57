package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	batchSteps = defineSteps("change.batch")
	indexSteps = defineSteps("change.add")
)

// A long list is written in batches of so many changes, each a transaction, with a
// rest of the same length between them: no checkpoint waits for the whole list.
const batchSize = 500

// Todo is a checkpoint whose changes are not known yet.
type Todo struct {
	Store      *record.Store      `json:"store"`
	Checkpoint *record.Checkpoint `json:"checkpoint"`
	Parent     *record.Checkpoint `json:"parent,omitempty"` // nil where it has none, or none that is still known
}

const unindexed = `status = 'ready' AND "index" = ''` // in the words of the index for it

// Unindexed lists the checkpoints of a store whose changes are to be found out,
// oldest first.
func (d *DB) Unindexed(ctx context.Context, store string) (list []Todo, err error) {
	err = d.view(ctx, func() error {
		s, err := d.store(Ref{Name: store})
		if err != nil {
			return err
		}
		found, err := d.checkpoints("WHERE store_id = ? AND "+unindexed+" ORDER BY version", s.ID)
		if err != nil {
			return err
		}
		list = make([]Todo, len(found))
		for i, c := range found {
			parent, err := d.oneCheckpoint("WHERE id = ?", c.ParentID)
			if err != nil {
				return err
			}
			list[i] = Todo{s, c, parent}
		}
		return nil
	})
	return list, err
}

// Indexed is what was found out about a checkpoint.
type Indexed struct {
	Store, Version string
	Parent         *int64          // the row that it was compared with; nil: whatever is its parent
	Changes        []record.Change // sorted by path; Index brings the files to the front
	State          string          // done or lost
}

// Index keeps what a checkpoint changed against its parent, instead of what may
// have been known of it before. Killed in the middle, it has to be done again. It
// does not wait for the disk: what a power cut undoes can be found out again.
func (d *DB) Index(ctx context.Context, x Indexed) (c *record.Checkpoint, err error) {
	if err := d.exec("PRAGMA synchronous = NORMAL"); err != nil {
		return nil, explain(err, d.path)
	}
	list, parent := x.Changes, x.Parent
	slices.SortStableFunc(list, directoriesLast) // who is shown the first few wants files
	for from := 0; ; from += batchSize {
		to, steps := from+batchSize, batchSteps
		if to >= len(list) {
			to, steps = len(list), indexSteps
		}
		start := time.Now()
		err := d.update(ctx, steps, func() error {
			if _, c, err = d.readyVersion(x.Store, x.Version); err != nil {
				return err
			}
			if parent != nil && c.ParentID != *parent {
				return status.Errorf(status.General, "checkpoint v%d has another parent by now", c.Version).
					WithHint("compare it with that one: cpdb change todo --store %s", x.Store)
			}
			parent = &c.ParentID
			if err := d.insertChanges(c, list, from, to); err != nil || to < len(list) {
				return err
			}
			return d.indexed(c, list, x.State)
		})
		if err != nil || to == len(list) {
			return c, err
		}
		if err := rest(ctx, time.Since(start)); err != nil {
			return nil, err
		}
	}
}

func directoriesLast(a, b record.Change) int {
	last := map[bool]int{true: 1}
	return last[a.Type == "dir"] - last[b.Type == "dir"]
}

// rest lets others have the lock. An interrupt ends it.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// insertChanges writes list[from:to]. From the first of them on until the last one
// is written, the checkpoint counts as not indexed.
func (d *DB) insertChanges(c *record.Checkpoint, list []record.Change, from, to int) error {
	if from == 0 && c.Index != record.IndexNone {
		if err := d.exec(`UPDATE checkpoints SET "index" = '', changes = 0, lines_added = 0, lines_deleted = 0 WHERE id = ?`, c.ID); err != nil {
			return err
		}
	}
	for i, ch := range list[from:to] {
		if err := d.insertChange(c.ID, from+i, ch); err != nil {
			return err
		}
	}
	return nil
}

func (d *DB) insertChange(checkpoint int64, seq int, ch record.Change) error {
	hunks, err := hunksText(ch.Hunks)
	if err != nil {
		return err
	}
	path, from := exact(ch.Path, ch.PathBytes), exact(ch.From, ch.FromBytes)
	for _, p := range [][]byte{path, from} {
		if len(p) > 0 {
			if err := d.exec("INSERT OR IGNORE INTO paths (path) VALUES (?)", p); err != nil {
				return err
			}
		}
	}
	return d.exec(`INSERT OR REPLACE INTO changes (checkpoint_id, seq, path_id, from_id, kind, type, old_type, what,
		old_mode, new_mode, old_size, new_size, binary, lines_added, lines_deleted, hunks)
		VALUES (?, ?, (SELECT id FROM paths WHERE path = ?), (SELECT id FROM paths WHERE path = ?),
			?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		checkpoint, seq, path, from, ch.Kind, ch.Type, ch.OldType, strings.Join(ch.What, ","),
		ch.OldMode, ch.NewMode, ch.OldSize, ch.NewSize, ch.Binary, ch.LinesAdded, ch.LinesDeleted, hunks)
}

// indexed removes what a longer list has left, and makes the new one count.
func (d *DB) indexed(c *record.Checkpoint, list []record.Change, state string) error {
	if err := d.exec("DELETE FROM changes WHERE checkpoint_id = ? AND seq >= ?", c.ID, len(list)); err != nil {
		return err
	}
	c.Index, c.Changes, c.LinesAdded, c.LinesDeleted = state, int64(len(list)), 0, 0
	for _, ch := range list {
		c.LinesAdded += count(ch.LinesAdded)
		c.LinesDeleted += count(ch.LinesDeleted)
	}
	return d.exec(`UPDATE checkpoints SET "index" = ?, changes = ?, lines_added = ?, lines_deleted = ? WHERE id = ?`,
		c.Index, c.Changes, c.LinesAdded, c.LinesDeleted, c.ID)
}

func count(lines *int) int64 {
	if lines == nil {
		return 0
	}
	return int64(*lines)
}

// Changed is a line of Changes.
type Changed struct {
	Change *record.Change `json:"change"`
}

// Changes lists what a checkpoint changed, by path: nothing where it is not known.
func (d *DB) Changes(ctx context.Context, store, version string) (list []Changed, err error) {
	err = d.view(ctx, func() error {
		s, err := d.store(Ref{Name: store})
		if err != nil {
			return err
		}
		c, err := d.versionOf(s, version)
		if err != nil || c.Index == record.IndexNone {
			return err
		}
		changes, err := d.changes("WHERE checkpoint_id = ? ORDER BY seq", c.ID)
		list = make([]Changed, len(changes))
		for i, ch := range changes {
			list[i].Change = ch
		}
		return err
	})
	return list, err
}

const selectChanges = `SELECT p.path, f.path, kind, type, old_type, what, old_mode, new_mode, old_size, new_size,
	binary, lines_added, lines_deleted, hunks
	FROM changes JOIN paths p ON p.id = path_id LEFT JOIN paths f ON f.id = from_id `

func (d *DB) changes(where string, args ...any) ([]*record.Change, error) {
	rows, err := d.query(selectChanges+where, args...)
	return all(rows, err, scanChange)
}

func scanChange(r row) (*record.Change, error) {
	var c record.Change
	var path, from sql.RawBytes
	var what, hunks string
	err := r.Scan(&path, &from, &c.Kind, &c.Type, &c.OldType, &what, &c.OldMode, &c.NewMode, &c.OldSize, &c.NewSize,
		&c.Binary, &c.LinesAdded, &c.LinesDeleted, &hunks)
	if err != nil {
		return nil, err
	}
	c.Path, c.PathBytes = shown(path)
	c.From, c.FromBytes = shown(from)
	if what != "" {
		c.What = strings.Split(what, ",")
	}
	if hunks != "" {
		err = json.Unmarshal([]byte(hunks), &c.Hunks)
	}
	return &c, err
}

// exact gives a path as it is on the disk; nil for none.
func exact(path string, raw []byte) []byte {
	if raw != nil || path == "" {
		return raw
	}
	return []byte(path)
}

// shown gives a path as it is in records, and its bytes where these are no text.
func shown(path []byte) (string, []byte) {
	if utf8.Valid(path) {
		return string(path), nil
	}
	return string([]rune(string(path))), append([]byte(nil), path...)
}

// hunksText gives what the column hunks holds.
func hunksText(hunks []record.Hunk) (string, error) {
	if len(hunks) == 0 {
		return "", nil
	}
	text, err := json.Marshal(hunks)
	return string(text), err
}

// ValidChange refuses a change that treediff would not write.
func ValidChange(c record.Change) error {
	switch {
	case cmp.Or(c.Path, string(c.PathBytes)) == "":
		return status.Errorf(status.General, "record: %q has no %q", "change", "path")
	case c.Kind == "":
		return status.Errorf(status.General, "record: %q has no %q", "change", "kind")
	}
	return nil
}
