// Package db keeps the metadata of agentfs in one SQLite file: stores and their
// checkpoints. It is the only code that knows the tables.
//
// Any number of processes may use the file at once. A change is one transaction
// that takes the write lock at its start, so that it never has to be undone in
// the middle; waiting for the lock happens here, in busy.go, and a user never
// reads "database is locked". A change is durable (synchronous=FULL) when its
// method returns, that of Begin excepted: nobody relies on a pending row, and
// the commit that follows makes it durable too.
package db

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/status"
)

// File is the database's name in the home directory.
const File = "agentfs.db"

// keepWAL is the size in bytes up to which Close leaves the write-ahead log to
// the next process. Folding it into the database costs two flushes, more than
// all the rest of a short command; reading so little again costs nothing.
const keepWAL = 128 << 10

// DB is an open database.
type DB struct {
	home   string // absolute
	path   string // of the database file; "" for the empty one in memory
	frozen bool   // it can only be read
	pool   *sql.DB
	conn   *sql.Conn // the only one of the pool
}

// Open opens the database below home. Where there is none it gives an empty one
// that lives in memory, so that reading creates nothing on disk and every
// question has its natural answer: not found.
func Open(ctx context.Context, home string) (*DB, error) {
	path := filepath.Join(home, File)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return openFile(ctx, home, path)
	}
	if err := refuseLogAlone(path); err != nil {
		return nil, err
	}
	return openMemory(ctx, home)
}

// InMemory tells whether there was no database to open.
func (d *DB) InMemory() bool { return d.path == "" }

// OpenOrCreate opens the database below home and makes both where they are
// missing.
func OpenOrCreate(ctx context.Context, home string) (*DB, error) {
	path := filepath.Join(home, File)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(ctx, home, path); err != nil {
			return nil, explain(err, path)
		}
	}
	return openFile(ctx, home, path)
}

func openMemory(ctx context.Context, home string) (*DB, error) {
	d := &DB{home: home}
	if err := d.connect(ctx, memoryDSN); err != nil {
		return nil, err
	}
	if err := d.migrate(ctx, migrations); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// openFile opens a database that exists. In a directory that cannot be written
// SQLite cannot keep its index of the log; where there is no log, reading works
// without.
func openFile(ctx context.Context, home, path string) (*DB, error) {
	d := &DB{home: home, path: path}
	err := d.openAt(ctx, dsn(path, "rw"))
	if c := code(err); (c == codeCantOpen || c == codeReadOnly) && !hasLog(path) {
		d.frozen = true
		err = d.openAt(ctx, dsn(path, "ro")+"&immutable=1")
	}
	if err == nil {
		err = d.settle(ctx)
	}
	if err != nil {
		return nil, explain(err, path)
	}
	return d, nil
}

func (d *DB) openAt(ctx context.Context, dsn string) error {
	if err := d.connect(ctx, dsn); err != nil {
		return err
	}
	return d.upgrade(ctx) // no disconnect: it could fold the log of a file that is not ours
}

// refuseLogAlone refuses to take a log without its database for nothing at all:
// it may hold the last changes, and would be taken for the log of a new file.
func refuseLogAlone(path string) error {
	if !hasLog(path) {
		return nil
	}
	return status.Errorf(status.General, "%s is missing, but its log %s-wal is there", path, path).
		WithHint("put %s back, or move the log away", path)
}

func hasLog(path string) bool {
	st, err := os.Lstat(path + "-wal")
	return err == nil && st.Size() > 0
}

// Close ends the use of the database. A short write-ahead log is left where it
// is, see keepWAL; the connection then ends with the process.
func (d *DB) Close() error {
	if st, err := os.Stat(d.path + "-wal"); d.path != "" && err == nil && st.Size() <= keepWAL {
		return nil
	}
	return d.disconnect()
}

// disconnect closes the connection; the last one of all processes folds the
// write-ahead log into the database and removes it.
func (d *DB) disconnect() error {
	return errors.Join(d.conn.Close(), d.pool.Close())
}

// steps are the points before and after the commit of a transaction at which a
// test may kill the process, or let it fail: before the commit nothing has changed
// then; after it all has, and the caller hears of an error all the same.
type steps struct{ committing, committed fault.Step }

func defineSteps(verb string) steps {
	return steps{
		committing: fault.Define("cpdb." + verb + ".committing"),
		committed:  fault.Define("cpdb." + verb + ".committed"),
	}
}

// update runs fn in one transaction that holds the write lock from its start.
func (d *DB) update(ctx context.Context, at steps, fn func() error) error {
	err := retry(ctx, func() error { return d.exec("BEGIN IMMEDIATE") })
	if err != nil {
		return explain(err, d.path)
	}
	if err := fn(); err != nil {
		_ = d.exec("ROLLBACK") // fails only where SQLite has rolled back itself
		return explain(err, d.path)
	}
	if err = at.committing.Reach(); err == nil {
		err = d.exec("COMMIT")
	}
	if err != nil {
		_ = d.exec("ROLLBACK")
		return explain(err, d.path)
	}
	return at.committed.Reach()
}

// view runs fn, which only reads and may run more than once, on one state of
// the database.
func (d *DB) view(ctx context.Context, fn func() error) error {
	err := retry(ctx, func() error {
		if err := d.exec("BEGIN"); err != nil {
			return err
		}
		err := fn()
		_ = d.exec("ROLLBACK") // there is nothing to undo; it ends the view
		return err
	})
	return explain(err, d.path)
}

// Statements run without the caller's context: they take microseconds, and a
// commit that was interrupted half-way could not tell whether it happened. Only
// waiting can be interrupted, see retry.

func (d *DB) exec(query string, args ...any) error {
	_, err := d.conn.ExecContext(context.Background(), query, args...)
	return err
}

func (d *DB) queryRow(query string, args ...any) *sql.Row {
	return d.conn.QueryRowContext(context.Background(), query, args...)
}

func (d *DB) query(query string, args ...any) (*sql.Rows, error) {
	return d.conn.QueryContext(context.Background(), query, args...)
}

// Times are stored as microseconds since 1970, in UTC.

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func fromMicro(us int64) time.Time { return time.UnixMicro(us).UTC() }
