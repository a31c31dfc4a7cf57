package db

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"agentfs.internal/tool/record"
)

// Entry is a checkpoint in the history of a store.
type Entry struct {
	Checkpoint *record.Checkpoint `json:"checkpoint"`       // ready or pruned
	Author     record.Causality   `json:"author"`           // who made its changes; empty for a person
	Paths      []string           `json:"paths,omitzero"`   // some of those that it changed
	Change     *record.Change     `json:"change,omitempty"` // what it did to the one path that was asked for
}

// Filter says which checkpoints are asked for. What is empty does not matter.
type Filter struct {
	Agent, Action, Session string    // of the author, or of the checkpoint itself
	Since, Until           time.Time // when it was made, both included
	Under                  []string  // it changed one of these paths, or something below one
	Limit                  int       // at most so many, 0 for no limit
	Paths                  int       // how many changed paths to name, those under Under first
}

// authors joins the author of a checkpoint's changes, as a. A checkpoint that was
// made after an action holds that action's changes. One that was made before an
// action holds whatever came before that: of an agent whose tools are announced,
// but do not report back, that is its tool before. Else a person has been at work.
const authors = `LEFT JOIN checkpoints a ON a.id = CASE WHEN c."before" THEN c.parent_id ELSE c.id END
	AND (NOT c."before" OR a."before" AND a.agent = c.agent AND a.session = c.session
		AND CASE WHEN nullif(a.meta, '') ->> 'event' IS NULL THEN a.action NOT IN ('', 'UserPromptSubmit')
			ELSE a.meta ->> 'event' LIKE '%tool%' OR a.meta ->> 'event' LIKE '%execution%' END) `

const selectEntries = "SELECT " + checkpointColumns + `,
	coalesce(a.agent, ''), coalesce(a.action, ''), coalesce(a.session, ''), coalesce(a.prompt, ''), coalesce(a.meta, ''), `

// query is a statement that grows, with its arguments.
type query struct {
	strings.Builder
	args []any
}

func (q *query) add(text string, args ...any) {
	q.WriteString(text)
	q.args = append(q.args, args...)
}

// Log lists checkpoints, ready and pruned, newest first.
func (d *DB) Log(ctx context.Context, store string, f Filter) (list []*Entry, err error) {
	err = d.view(ctx, func() error {
		s, err := d.store(Ref{Name: store})
		if err != nil {
			return err
		}
		list, err = d.entries(f.query(s.ID))
		return err
	})
	return list, err
}

func (d *DB) entries(q *query) ([]*Entry, error) {
	rows, err := d.query(q.String(), q.args...)
	return all(rows, err, scanEntry)
}

func (f Filter) query(storeID string) *query {
	q := &query{}
	if len(f.Under) > 0 {
		q.add("WITH matched (id) AS MATERIALIZED (")
		q.addUnder(f.Under)
		q.add(") ")
	}
	q.add(selectEntries)
	q.addPaths(f.Paths, len(f.Under) > 0)
	q.add(" FROM checkpoints c "+authors+"WHERE c.store_id = ? AND c.status IN ('ready', 'pruned')", storeID)
	if len(f.Under) > 0 {
		q.add(` AND c."index" <> '' AND c.id IN (SELECT checkpoint_id FROM matched CROSS JOIN changes ON path_id = matched.id
			UNION ALL SELECT checkpoint_id FROM changes WHERE from_id IN matched)`)
	}
	f.addCausality(q)
	if !f.Since.IsZero() {
		q.add(" AND c.created_at >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		q.add(" AND c.created_at <= ?", f.Until.UnixMicro())
	}
	q.add(" ORDER BY c.version DESC LIMIT ?", orNone(f.Limit))
	return q
}

// addUnder adds the statement that finds the paths and all below them.
func (q *query) addUnder(paths []string) {
	for i, p := range paths {
		if i > 0 {
			q.add(" UNION ")
		}
		if p == "." {
			q.add("SELECT id FROM paths")
			continue
		}
		q.add("SELECT id FROM paths WHERE path = ? UNION SELECT id FROM paths WHERE path > ? AND path < ?",
			[]byte(p), []byte(p+"/"), []byte(p+"0")) // "0" follows "/"
	}
}

// separator stands between the paths of an entry: no path has an empty component.
const separator = "//"

// addPaths adds the column with the first paths of the list, the matched ones first.
func (q *query) addPaths(limit int, matched bool) {
	if limit == 0 {
		q.add("NULL")
		return
	}
	first := ""
	if matched {
		first = "path_id IN matched OR from_id IN matched DESC, "
	}
	q.add(`(SELECT group_concat(CAST(path AS TEXT), '`+separator+`') FROM
		(SELECT path_id FROM changes WHERE checkpoint_id = c.id AND c."index" <> '' ORDER BY `+first+`seq LIMIT ?)
		CROSS JOIN paths ON id = path_id)`, limit)
}

// addCausality wants one that fits, that of the author or the checkpoint's own.
func (f Filter) addCausality(q *query) {
	fits := &query{}
	for _, want := range [][2]string{{"agent", f.Agent}, {"action", f.Action}, {"session", f.Session}} {
		if want[1] != "" {
			fits.add(" AND x."+want[0]+" = ?", want[1])
		}
	}
	if len(fits.args) == 0 {
		return
	}
	text := strings.TrimPrefix(fits.String(), " AND ")
	q.add(" AND ("+strings.ReplaceAll(text, "x.", "c.")+" OR ", fits.args...)
	q.add(strings.ReplaceAll(text, "x.", "a.")+")", fits.args...)
}

func scanEntry(r row) (*Entry, error) {
	e := &Entry{Paths: []string{}}
	var meta metaText
	var paths sql.NullString
	c, err := scanCheckpointAnd(r, &e.Author.Agent, &e.Author.Action, &e.Author.Session, &e.Author.Prompt, &meta, &paths)
	if err != nil {
		return nil, err
	}
	e.Checkpoint = c
	if paths.Valid {
		e.Paths = strings.Split(paths.String, separator)
	}
	e.Author.Meta, err = meta.parse()
	return e, err
}
