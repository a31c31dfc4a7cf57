package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// optional registers a flag that is nil unless it is given.
func optional(fs *flag.FlagSet, p **string, name, usage string) {
	fs.Func(name, usage, func(s string) error {
		*p = &s
		return nil
	})
}

// needStore is for verbs that take their store from a flag only.
func needStore(name *string) (string, error) {
	if name == nil {
		return "", status.Errorf(status.Usage, "needs --store NAME")
	}
	return *name, nil
}

// storeRef finds out which store is meant: the one of the argument, else the
// one of the record.
func storeRef(args []string, rec *record.Record) (db.Ref, error) {
	if len(args) > 0 {
		return db.Ref{Name: args[0]}, nil
	}
	var s record.Store
	if err := rec.Get("store", &s); err != nil {
		return db.Ref{}, err
	}
	if s.ID == "" {
		return db.Ref{}, missing("store", "id")
	}
	return db.Ref{ID: s.ID, Name: s.Name}, nil
}

// at is the pair of flags that names a checkpoint by hand; nil: not given.
type at struct{ store, version *string }

func (a *at) flags(fs *flag.FlagSet) {
	optional(fs, &a.store, "store", "`name` of the store")
	optional(fs, &a.version, "version", "the checkpoint, as in `v4`")
}

// told tells whether the flags name a checkpoint. One flag alone is an error.
func (a at) told() (bool, error) {
	if (a.store == nil) != (a.version == nil) {
		return false, status.Errorf(status.Usage, "--store and --version belong together")
	}
	return a.store != nil, nil
}

// checkpointRef finds out which checkpoint is meant: the one of the flags, else
// the one of the record.
func (a at) checkpointRef(rec *record.Record) (db.At, error) {
	if a.store != nil {
		return db.At{Store: *a.store, Version: *a.version}, nil
	}
	var c record.Checkpoint
	if err := rec.Get("checkpoint", &c); err != nil {
		return db.At{}, err
	}
	switch {
	case c.StoreID == "":
		return db.At{}, missing("checkpoint", "store_id")
	case c.Version == 0:
		return db.At{}, missing("checkpoint", "version")
	}
	ref := db.At{StoreID: c.StoreID, Number: c.Version}
	var s record.Store
	if rec.Has("store") && rec.Get("store", &s) == nil {
		ref.Store = s.Name // for messages
	}
	return ref, nil
}

func missing(key, field string) error {
	return fmt.Errorf("record: %q has no %q", key, field)
}

// write writes a record with these keys and values.
func write(w io.Writer, rec *record.Record, pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := rec.Set(pairs[i].(string), pairs[i+1]); err != nil {
			return err
		}
	}
	return rec.Write(w)
}

// writeLines writes a long list: one record a line.
func writeLines[T any](w io.Writer, list []T) error {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return out.Flush()
}

// writeAll writes a list: one record with one key a line.
func writeAll[T any](w io.Writer, key string, list []T) error {
	for _, v := range list {
		if err := write(w, record.New(), key, v); err != nil {
			return err
		}
	}
	return nil
}
