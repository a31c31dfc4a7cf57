package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	importCopied = fault.Define("agentfs.import.copied") // the checkpoints are there
	importAdded  = fault.Define("agentfs.import.added")  // and their rows
	importBack   = fault.Define("agentfs.import.bands")  // the newest one's bands are the image's
)

// backupOf is a store's directory in a backup.
type backupOf struct {
	dir         string
	store       record.Store        // as it was
	checkpoints []record.Checkpoint // oldest first, with their directories as they are here
}

// readBackup reads what the files in a backup tell. A checkpoint that none tells of is
// known by its name.
func readBackup(dir string) (b backupOf, err error) {
	b.dir = dir
	rec, err := readRecord(filepath.Join(dir, record.StoreFile))
	if err == nil {
		err = rec.Get("store", &b.store)
	}
	if err != nil {
		return b, status.Errorf(status.General, "import: %w", err)
	}
	at := filepath.Join(dir, "checkpoints")
	entries, err := os.ReadDir(at)
	if err != nil {
		return b, status.Errorf(status.General, "import: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !versionShape.MatchString(e.Name()) {
			continue
		}
		number, err := strconv.ParseInt(e.Name()[1:], 10, 64)
		if err != nil || number < 1 {
			continue
		}
		b.checkpoints = append(b.checkpoints, readCheckpoint(filepath.Join(at, e.Name()), number))
	}
	if len(b.checkpoints) == 0 {
		return b, status.Errorf(status.NoCheckpoint, "import: %s: holds no checkpoint yet", dir).WithHint("agentfs backup %s", pipeline.Quote(filepath.Dir(dir)))
	}
	slices.SortFunc(b.checkpoints, func(x, y record.Checkpoint) int { return int(x.Version - y.Version) })
	return b, nil
}

// readCheckpoint reads what is said of the checkpoint in a directory.
func readCheckpoint(dir string, number int64) record.Checkpoint {
	var cp record.Checkpoint
	rec, err := readRecord(filepath.Join(dir, record.CheckpointFile))
	if err != nil || rec.Get("checkpoint", &cp) != nil || cp.Version != number {
		cp = record.Checkpoint{Version: number, Parent: number - 1, Message: "(recovered)"}
		if st, err := os.Stat(dir); err == nil {
			cp.CreatedAt = st.ModTime().UTC()
		}
	}
	cp.Dir = dir
	return cp
}

func readRecord(file string) (*record.Record, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return record.Read(bytes.NewReader(text))
}

// importBackup makes a store of a backup.
func (a *app) importBackup(ctx context.Context, source string, args []string, o importOptions) error {
	if o.size != "" {
		return status.Errorf(status.Usage, "import: a backup has its own size").WithHint("leave --size out")
	}
	source, err := a.abs(source)
	if err != nil {
		return err
	}
	from, err := readBackup(physical(source))
	if err != nil {
		return err
	}
	name := from.store.Name
	if len(args) > 0 {
		name = args[0]
	}
	p, err := a.plan(name, initOptions{mount: o.mount})
	if err != nil {
		return err
	}
	p.full, p.size = true, from.store.SizeBytes
	var came []record.Checkpoint
	err = a.found(ctx, p, func(ctx context.Context, p *plan) error {
		came, err = a.bringBack(ctx, p, from, o.skipDamaged)
		return err
	})
	if err != nil {
		return err
	}
	return a.sayImported(p, came)
}

// bringBack makes the store: the checkpoints, their rows, and the image as the newest
// one has it.
func (a *app) bringBack(ctx context.Context, p *plan, from backupOf, skip bool) ([]record.Checkpoint, error) {
	rec, err := a.addStore(ctx, p, "--forked-from", from.store.ForkedFrom, "--next-version", strconv.FormatInt(max(1, from.store.NextVersion), 10))
	if err != nil {
		return nil, err
	}
	if err := initAdded.Reach(); err != nil {
		return nil, err
	}
	like := filepath.Join(from.dir, filepath.Base(from.store.BundlePath))
	if err := a.run.Exec(ctx, rec, pipeline.Tool("bundlectl", "create", "--like", like).Then(initCreated.Reach)); err != nil {
		return nil, err
	}
	copied, err := a.copyCheckpoints(ctx, rec, from.checkpoints, p.checkpoints())
	if err != nil {
		if !skip || len(copied) == 0 {
			return nil, err
		}
		_ = a.report(err) // what is damaged is named
	}
	if err := importCopied.Reach(); err != nil {
		return nil, err
	}
	var added bytes.Buffer
	if err := a.run.Feed(ctx, copied, &added, pipeline.Tool("cpdb", "checkpoint", "add", "--store", p.name).Then(importAdded.Reach)); err != nil {
		return nil, err
	}
	recs, err := record.ReadAll(&added)
	came, err := collect[record.Checkpoint](recs, "checkpoint", err)
	if err != nil {
		return nil, err
	}
	if err := rec.Set("checkpoint", came[len(came)-1]); err != nil {
		return nil, err
	}
	return came, a.run.Exec(ctx, rec,
		pipeline.Tool("bandclone", "restore").Then(importBack.Reach),
		pipeline.Tool("bandclone", "restore", finish),
		pipeline.Tool("bundlectl", "attach").Then(initAttached.Reach),
		setReady(true))
}

// copyCheckpoints brings the checkpoints in a directory up to a list, and gives those
// that were not there: also where some of the list could not be copied.
func (a *app) copyCheckpoints(ctx context.Context, store *record.Record, list []record.Checkpoint, to string) ([]*record.Record, error) {
	recs := make([]*record.Record, len(list))
	for i, cp := range list {
		recs[i] = store.Without("checkpoint")
		if err := recs[i].Set("checkpoint", cp); err != nil {
			return nil, err
		}
	}
	words := []string{"bandclone", "copy", "--to", to}
	if isTerminal(a.io.Err) {
		words = append(words, "--progress")
	}
	var out bytes.Buffer
	err := a.run.Feed(ctx, recs, &out, pipeline.Tool(words...).Showing(a.io.Err))
	copied, lost := record.ReadAll(&out)
	if err == nil {
		err = lost
	}
	return copied, err
}
