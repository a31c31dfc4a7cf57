package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"agentfs.internal/tool/durable"
	"agentfs.internal/tool/fault"
)

const (
	// applicationID marks the file as ours: "agfs" in ASCII.
	applicationID = 0x61676673

	memoryDSN = "file::memory:?_foreign_keys=1"
)

var (
	createRenaming = fault.Define("cpdb.create.renaming")
	createRenamed  = fault.Define("cpdb.create.renamed")
)

// dsn gives the connection string for a file. SQLite itself waits only a
// moment for a lock; retry, which can be interrupted, does so again and again.
func dsn(path, mode string) string {
	u := url.URL{Scheme: "file", Path: path}
	u.RawQuery = url.Values{
		"mode":             {mode},
		"_busy_timeout":    {"250"},
		"_foreign_keys":    {"1"},
		"_synchronous":     {"FULL"},
		"_stmt_cache_size": {"16"},
	}.Encode()
	return u.String()
}

func (d *DB) connect(ctx context.Context, dsn string) error {
	pool, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return err
	}
	err = retry(ctx, func() (err error) {
		d.conn, err = pool.Conn(context.Background())
		return err
	})
	if err != nil {
		return errors.Join(err, pool.Close())
	}
	d.pool = pool
	return nil
}

// create makes the database under another name and puts it in place by one
// rename, complete: no other process ever sees it half made, whenever this one
// dies. The lock is on the home directory, so that it leaves no file.
func create(ctx context.Context, home, path string) error {
	if err := durable.MkdirAll(home, 0o700); err != nil {
		return err
	}
	unlock, err := lockDir(ctx, home)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(path); err == nil {
		return nil // another process was faster
	}
	if err := refuseLogAlone(path); err != nil {
		return err
	}
	fresh := path + ".new"
	defer os.Remove(fresh) // not there any more, if all went well
	if err := build(ctx, fresh); err != nil {
		return err
	}
	if err := createRenaming.Reach(); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	if err := createRenamed.Reach(); err != nil {
		return err
	}
	return durable.SyncDir(home)
}

// build makes an empty database of the newest schema.
func build(ctx context.Context, path string) error {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.RemoveAll(path + suffix); err != nil { // left by a process that died
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	d := &DB{path: path}
	if err := d.connect(ctx, dsn(path, "rw")); err != nil {
		return err
	}
	err = d.exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID))
	if err == nil {
		err = d.useWAL()
	}
	if err == nil {
		err = d.migrate(ctx, migrations)
	}
	return errors.Join(err, d.disconnect())
}

// useWAL switches the file to write-ahead logging, for good: readers and one
// writer then do not wait for each other.
func (d *DB) useWAL() error {
	var mode string
	if err := d.queryRow("PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("write-ahead logging cannot be used here: journal mode is %q", mode)
	}
	return nil
}
