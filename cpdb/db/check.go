package db

import (
	"context"
	"fmt"

	"agentfs.internal/tool/record"
)

// Problem is one thing that is not as it should be. Key "problem".
type Problem struct {
	Kind    string `json:"kind"`    // one of the Kind… constants
	Store   string `json:"store"`   // the store's name, empty where it is about none
	Version int64  `json:"version"` // of the checkpoint, 0 where it is about none
	Path    string `json:"path"`    // of the file or directory that it is about, may be empty
	Text    string `json:"text"`    // what is wrong, for people
}

// The kinds of problems.
const (
	KindCorrupt  = "corrupt"  // SQLite finds the file damaged, or a row without its store
	KindLeftover = "leftover" // neither ready nor pruned: a command is running or has died
	KindMissing  = "missing"  // a ready row whose files are gone: a loss
	KindOrphan   = "orphan"   // files without a row
	KindVersion  = "version"  // the next version is one that was used
)

// Check looks for problems in the database and in the directories that it
// tells of: those of one store, or all where store is "". It changes nothing.
func (d *DB) Check(ctx context.Context, store string) (list []Problem, err error) {
	err = d.view(ctx, func() error {
		list, err = d.check(store)
		return err
	})
	return list, err
}

func (d *DB) check(name string) ([]Problem, error) {
	stores, err := d.stores("WHERE ?1 = '' OR name = ?1 COLLATE BINARY ORDER BY name", name)
	if err != nil {
		return nil, err
	}
	if name != "" && len(stores) == 0 {
		_, err := d.store(Ref{Name: name})
		return nil, err
	}
	found, err := d.checkFile()
	if err != nil {
		return nil, err
	}
	for _, s := range stores {
		more, err := d.checkStore(s)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	if name == "" {
		found = append(found, orphanStores(d.home, stores)...)
	}
	return found, nil
}

// checkFile asks SQLite.
func (d *DB) checkFile() ([]Problem, error) {
	rows, err := d.query("PRAGMA integrity_check")
	texts, err := all(rows, err, func(r row) (text string, err error) {
		return text, r.Scan(&text)
	})
	if err != nil {
		return nil, err
	}
	rows, err = d.query(`SELECT format('row %d of %s points to no row of %s', rowid, "table", parent) FROM pragma_foreign_key_check`)
	strays, err := all(rows, err, func(r row) (text string, err error) {
		return text, r.Scan(&text)
	})
	if err != nil {
		return nil, err
	}
	var found []Problem
	for _, text := range append(texts, strays...) {
		if text != "ok" {
			found = append(found, Problem{Kind: KindCorrupt, Path: d.path, Text: text})
		}
	}
	return found, nil
}

func (d *DB) checkStore(s *record.Store) ([]Problem, error) {
	list, err := d.checkpoints("WHERE store_id = ? ORDER BY version", s.ID)
	if err != nil {
		return nil, err
	}
	var found []Problem
	if s.Status != record.StoreReady {
		found = append(found, Problem{KindLeftover, s.Name, 0, s.BundlePath, "store is " + s.Status})
	} else if !isDir(s.BundlePath) {
		found = append(found, Problem{KindMissing, s.Name, 0, s.BundlePath, "the bundle is gone"})
	}
	for _, c := range list {
		switch {
		case c.Status == record.CheckpointPruned: // its files are gone as they should be
		case c.Status != record.CheckpointReady:
			found = append(found, Problem{KindLeftover, s.Name, c.Version, c.Dir, "checkpoint is " + c.Status})
		case !isDir(c.Dir):
			found = append(found, Problem{KindMissing, s.Name, c.Version, c.Dir, "the checkpoint's bands are gone"})
		}
	}
	if n := len(list); n > 0 && s.NextVersion <= list[n-1].Version {
		text := fmt.Sprintf("the next version is v%d, v%d exists", s.NextVersion, list[n-1].Version)
		found = append(found, Problem{KindVersion, s.Name, list[n-1].Version, "", text})
	}
	return append(found, orphanCheckpoints(s, list)...), nil
}
