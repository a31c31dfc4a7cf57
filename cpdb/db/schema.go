package db

// migrations lead from an empty file to the newest schema; the version of a
// file (PRAGMA user_version) is the number of those that it has seen. One that
// was released is never changed: testdata holds a file of every version.
var migrations = []string{schema1, schema2}

// Column names are the records' field names. Times are microseconds since 1970.
const schema1 = `
CREATE TABLE stores (
	id           TEXT PRIMARY KEY NOT NULL,
	name         TEXT NOT NULL UNIQUE COLLATE NOCASE, -- also the name of a directory, on systems that ignore case
	status       TEXT NOT NULL,
	bundle_path  TEXT NOT NULL UNIQUE,
	mount_path   TEXT NOT NULL UNIQUE,
	size_bytes   INTEGER NOT NULL,
	created_at   INTEGER NOT NULL,
	mounted_at   INTEGER,
	next_version INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE TABLE checkpoints (
	id            INTEGER PRIMARY KEY AUTOINCREMENT,
	store_id      TEXT NOT NULL REFERENCES stores(id) ON DELETE CASCADE,
	version       INTEGER NOT NULL,
	message       TEXT NOT NULL,
	created_at    INTEGER NOT NULL,
	status        TEXT NOT NULL,
	parent        INTEGER NOT NULL,
	dir           TEXT NOT NULL,
	method        TEXT NOT NULL DEFAULT '',
	bands         INTEGER NOT NULL DEFAULT 0,
	bytes         INTEGER NOT NULL DEFAULT 0,
	changed_bands INTEGER NOT NULL DEFAULT 0,
	duration_ms   REAL NOT NULL DEFAULT 0,
	UNIQUE (store_id, version) -- its index also serves "newest first"
) STRICT;

-- Few rows are in it, so that leftovers cost nothing to find and the ready ones
-- are counted without reading them.
CREATE INDEX checkpoints_not_ready ON checkpoints (store_id, version) WHERE status <> 'ready';

-- For people.
CREATE VIEW store_list AS
	SELECT name, status, mount_path,
		datetime(mounted_at / 1000000, 'unixepoch') AS mounted,
		datetime(created_at / 1000000, 'unixepoch') AS created,
		(SELECT count(*) FROM checkpoints c WHERE c.store_id = s.id AND c.status = 'ready') AS checkpoints
	FROM stores s ORDER BY name;
CREATE VIEW checkpoint_list AS
	SELECT s.name AS store, 'v' || c.version AS version, c.status, c.message,
		datetime(c.created_at / 1000000, 'unixepoch') AS created,
		c.changed_bands, c.bands, c.duration_ms
	FROM checkpoints c JOIN stores s ON s.id = c.store_id
	ORDER BY s.name, c.version DESC;
`

const schema2 = `
ALTER TABLE stores ADD COLUMN forked_from TEXT NOT NULL DEFAULT '';
ALTER TABLE checkpoints ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
`
