package main

import (
	"encoding/json"
	"os"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

var createNoted = fault.Define("bandclone.create.noted") // and what tells of it beside them

// note puts what the record tells of the checkpoint beside its bands, as it will be
// once it has been committed. Without the database, that is all that tells of it.
func (c *creation) note(rec *record.Record) error {
	if !rec.Has("checkpoint") {
		return nil
	}
	about, err := c.about(rec)
	if err != nil {
		return err
	}
	f, err := c.clone.stage.OpenFile(record.CheckpointFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, bands.SealedMode)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := about.Write(f); err != nil {
		return err
	}
	if c.durable {
		err = f.Sync()
	}
	if err == nil {
		err = createNoted.Reach()
	}
	return err
}

// about gives the keys of the record that are about the checkpoint.
func (c *creation) about(rec *record.Record) (*record.Record, error) {
	about := record.New()
	for _, key := range []string{"store", "checkpoint"} {
		if !rec.Has(key) {
			continue
		}
		var value json.RawMessage // with what this bandclone does not know
		if err := rec.Get(key, &value); err != nil {
			return nil, err
		}
		if err := about.Set(key, value); err != nil {
			return nil, err
		}
	}
	var cp record.Checkpoint
	if err := rec.Get("checkpoint", &cp); err != nil {
		return nil, err
	}
	made := c.clone.record(c.changed, c.took)
	cp.Status, cp.Method = record.CheckpointReady, made.Method
	cp.Bands, cp.Bytes, cp.ChangedBands = made.Bands, made.Bytes, made.ChangedBands
	return about, about.Set("checkpoint", cp)
}
