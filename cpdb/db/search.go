package db

import (
	"context"
	"strconv"
	"strings"
	"unicode"

	"agentfs.internal/tool/record"
)

// Words gives the words of a text: its letters and digits, lower-case, as the
// tables of words have them.
func Words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

// Search lists checkpoints, ready and pruned, newest first, for which each word is
// the beginning of a word of their message, prompt, agent, action or of a path that
// they changed. Only the paths with such words are in the entries.
func (d *DB) Search(ctx context.Context, store string, words []string, limit int) (list []*Entry, err error) {
	err = d.view(ctx, func() error {
		s, err := d.store(Ref{Name: store})
		if err != nil {
			return err
		}
		fresh, err := d.searchUnindexed(s.ID, words)
		if err != nil {
			return err
		}
		list, err = d.entries(searchQuery(s.ID, words, fresh, limit))
		return err
	})
	return list, err
}

func searchQuery(storeID string, words, fresh []string, limit int) *query {
	prefixes := make([]string, len(words))
	for i, w := range words {
		prefixes[i] = `"` + w + `*"` // in quotes no word is an operator
	}
	q := &query{}
	q.add("WITH matched (id) AS MATERIALIZED (SELECT docid FROM path_words WHERE path_words MATCH ?) ", strings.Join(prefixes, " OR "))
	q.add(selectEntries)
	q.add(`(SELECT group_concat(CAST(path AS TEXT), '` + separator + `') FROM
		(SELECT path_id FROM changes WHERE checkpoint_id = c.id AND c."index" <> '' AND path_id IN matched ORDER BY seq LIMIT 3)
		CROSS JOIN paths ON id = path_id)`)
	q.add(" FROM checkpoints c "+authors+"WHERE c.store_id = ? AND c.status IN ('ready', 'pruned') AND (c.\"index\" <> ''", storeID)
	for _, p := range prefixes {
		q.add(` AND c.id IN (SELECT docid FROM checkpoint_words WHERE checkpoint_words MATCH ?
			UNION ALL SELECT checkpoint_id FROM path_words CROSS JOIN changes ON path_id = docid WHERE path_words MATCH ?)`, p, p)
	}
	q.add(" OR c.id IN ("+strings.Join(fresh, ",")+")) ORDER BY c.version DESC LIMIT ?", orNone(limit))
	return q
}

// searchUnindexed gives the rows of those that are not in the tables of words yet.
func (d *DB) searchUnindexed(storeID string, words []string) (ids []string, err error) {
	list, err := d.checkpoints("WHERE store_id = ? AND "+unindexed, storeID)
	for _, c := range list {
		if hasAll(c, words) {
			ids = append(ids, strconv.FormatInt(c.ID, 10))
		}
	}
	return ids, err
}

func hasAll(c *record.Checkpoint, words []string) bool {
	has := Words(c.Message + "\n" + c.Prompt + "\n" + c.Agent + "\n" + c.Action)
	for _, w := range words {
		found := false
		for _, h := range has {
			found = found || strings.HasPrefix(h, w)
		}
		if !found {
			return false
		}
	}
	return true
}
