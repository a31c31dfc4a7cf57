package db

import (
	"context"
	"fmt"

	"agentfs.internal/tool/record"
)

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
func (d *DB) Check(ctx context.Context, store string) (list []record.Problem, err error) {
	err = d.view(ctx, func() error {
		list, err = d.check(store)
		return err
	})
	return list, err
}

func (d *DB) check(name string) ([]record.Problem, error) {
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
func (d *DB) checkFile() ([]record.Problem, error) {
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
	var found []record.Problem
	for _, text := range append(texts, strays...) {
		if text != "ok" {
			found = append(found, record.Problem{Kind: KindCorrupt, Path: d.path, Text: text})
		}
	}
	return found, nil
}

func (d *DB) checkStore(s *record.Store) ([]record.Problem, error) {
	list, err := d.checkpoints("WHERE store_id = ? ORDER BY version", s.ID)
	if err != nil {
		return nil, err
	}
	var found []record.Problem
	if s.Status != record.StoreReady {
		found = append(found, record.Problem{Kind: KindLeftover, Store: s.Name, Path: s.BundlePath, Text: "store is " + s.Status})
	} else if !isDir(s.BundlePath) {
		found = append(found, record.Problem{Kind: KindMissing, Store: s.Name, Path: s.BundlePath, Text: "the bundle is gone"})
	}
	for _, c := range list {
		switch {
		case c.Status == record.CheckpointPruned: // its files are gone as they should be
		case c.Status != record.CheckpointReady:
			found = append(found, record.Problem{Kind: KindLeftover, Store: s.Name, Version: c.Version, Path: c.Dir, Text: "checkpoint is " + c.Status})
		case !isDir(c.Dir):
			found = append(found, record.Problem{Kind: KindMissing, Store: s.Name, Version: c.Version, Path: c.Dir, Text: "the checkpoint's bands are gone"})
		}
	}
	if n := len(list); n > 0 && s.NextVersion <= list[n-1].Version {
		text := fmt.Sprintf("the next version is v%d, v%d exists", s.NextVersion, list[n-1].Version)
		found = append(found, record.Problem{Kind: KindVersion, Store: s.Name, Version: list[n-1].Version, Text: text})
	}
	return append(found, orphanCheckpoints(s, list)...), nil
}
