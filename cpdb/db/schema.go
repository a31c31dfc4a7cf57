package db

// migrations lead from an empty file to the newest schema; the version of a
// file (PRAGMA user_version) is the number of those that it has seen. One that
// was released is never changed: testdata holds a file of every version.
var migrations = []string{schema1, schema2, schema3, schema4}

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

// What came in with schema 3: why a checkpoint was made, and what it changed. A
// parent is a row, perhaps of another store or one that is gone. The present of a
// store comes from its base.
const schema3 = `
ALTER TABLE stores ADD COLUMN base_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN parent_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN "index" TEXT NOT NULL DEFAULT '';
ALTER TABLE checkpoints ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN lines_added INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN lines_deleted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN prune INTEGER NOT NULL DEFAULT 0; -- deleting: its row is to stay, as pruned
ALTER TABLE checkpoints ADD COLUMN "before" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE checkpoints ADD COLUMN action TEXT NOT NULL DEFAULT '';
ALTER TABLE checkpoints ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE checkpoints ADD COLUMN prompt TEXT NOT NULL DEFAULT '';
ALTER TABLE checkpoints ADD COLUMN meta TEXT NOT NULL DEFAULT ''; -- JSON, empty for none

-- The parent was the newest one then; where that has gone since, the newest before it.
UPDATE checkpoints SET (parent_id, parent) = (SELECT coalesce(max(p.id), 0), coalesce(max(p.version), 0)
	FROM (SELECT id, version FROM checkpoints p WHERE p.store_id = checkpoints.store_id
		AND p.version <= checkpoints.parent ORDER BY p.version DESC LIMIT 1) p);
UPDATE stores SET base_id = coalesce((SELECT c.id FROM checkpoints c JOIN stores s ON s.id = c.store_id
	WHERE s.name || ' v' || c.version = stores.forked_from AND c.created_at < stores.created_at), 0) WHERE forked_from <> '';
UPDATE checkpoints SET parent_id = (SELECT base_id FROM stores WHERE id = store_id) WHERE parent_id = 0;
UPDATE stores SET base_id = coalesce((SELECT id FROM checkpoints c
	WHERE c.store_id = stores.id AND c.status = 'ready' ORDER BY version DESC LIMIT 1), base_id);

-- Each serves one question that would otherwise read all rows, and has few in it.
DROP INDEX checkpoints_not_ready; -- it would hold all that were pruned
CREATE INDEX checkpoints_ready ON checkpoints (store_id, version) WHERE status = 'ready';
CREATE INDEX checkpoints_unfinished ON checkpoints (store_id, version) WHERE status IN ('pending', 'deleting');
CREATE INDEX checkpoints_unindexed ON checkpoints (store_id, version) WHERE status = 'ready' AND "index" = '';
CREATE INDEX checkpoints_prompt ON checkpoints (store_id, session, version) WHERE session <> '' AND prompt <> '';
CREATE INDEX checkpoints_parent ON checkpoints (parent_id);

CREATE TABLE paths (
	id   INTEGER PRIMARY KEY,
	path BLOB NOT NULL UNIQUE -- its exact bytes
) STRICT;

CREATE TABLE changes (
	checkpoint_id INTEGER NOT NULL REFERENCES checkpoints(id) ON DELETE CASCADE,
	seq           INTEGER NOT NULL, -- its place in the list: files by path, then directories
	path_id       INTEGER NOT NULL REFERENCES paths(id),
	from_id       INTEGER REFERENCES paths(id),
	kind          TEXT NOT NULL,
	type          TEXT NOT NULL,
	old_type      TEXT NOT NULL,
	what          TEXT NOT NULL, -- joined by commas
	old_mode      TEXT NOT NULL,
	new_mode      TEXT NOT NULL,
	old_size      INTEGER NOT NULL,
	new_size      INTEGER NOT NULL,
	binary        INTEGER NOT NULL,
	lines_added   INTEGER,
	lines_deleted INTEGER,
	hunks         TEXT NOT NULL, -- JSON, empty for none
	PRIMARY KEY (checkpoint_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX changes_path ON changes (path_id);
CREATE INDEX changes_from ON changes (from_id) WHERE from_id IS NOT NULL;

-- Words that begin with …: of every path, and of every checkpoint that is indexed.
CREATE VIRTUAL TABLE path_words USING fts4(path, content="paths", matchinfo=fts3, tokenize=unicode61 "remove_diacritics=0");
CREATE VIRTUAL TABLE checkpoint_words USING fts4(message, prompt, agent, action, matchinfo=fts3, tokenize=unicode61 "remove_diacritics=0");
CREATE TRIGGER paths_added AFTER INSERT ON paths BEGIN
	INSERT INTO path_words (docid, path) VALUES (new.id, new.path);
END;
CREATE TRIGGER checkpoints_indexed AFTER UPDATE OF "index" ON checkpoints WHEN old."index" = '' AND new."index" <> '' BEGIN
	INSERT INTO checkpoint_words (docid, message, prompt, agent, action)
		VALUES (new.id, new.message, new.prompt, new.agent, new.action);
END;
CREATE TRIGGER checkpoints_unindexed_again AFTER UPDATE OF "index" ON checkpoints WHEN old."index" <> '' AND new."index" = '' BEGIN
	DELETE FROM checkpoint_words WHERE docid = old.id;
END;
CREATE TRIGGER checkpoints_deleted AFTER DELETE ON checkpoints WHEN old."index" <> '' BEGIN
	DELETE FROM checkpoint_words WHERE docid = old.id;
END;
`

// What came in with schema 4: since when a checkpoint outlives a power cut, and in
// which boot of the machine one was made that does not yet. Those before were durable
// before they were ready.
const schema4 = `
ALTER TABLE checkpoints ADD COLUMN durable_at INTEGER;
ALTER TABLE checkpoints ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
UPDATE checkpoints SET durable_at = created_at WHERE status <> 'pending';
CREATE INDEX checkpoints_volatile ON checkpoints (store_id, version) WHERE status = 'ready' AND durable_at IS NULL;
`
