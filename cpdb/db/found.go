package db

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agentfs.internal/tool/record"
)

// finding is what the files below home tell of stores and checkpoints.
type finding struct {
	home   string
	warn   func(format string, args ...any)
	stores []*foundStore
}

// foundStore is a store that a file tells of.
type foundStore struct {
	record.Store
	base, noted int64 // the base, and the next version, when the file was written
	checkpoints []*record.Checkpoint
}

// look reads all that there is. What cannot be used is told and left out.
func (f *finding) look() error {
	root := filepath.Join(f.home, "stores")
	for _, name := range subdirs(root) {
		s, err := f.lookAt(name)
		if err == nil {
			err = f.refuseClash(s)
		}
		if err != nil {
			f.warn("%s is left out: %v", filepath.Join(root, name), err)
			continue
		}
		f.lookForCheckpoints(s)
		f.stores = append(f.stores, s)
	}
	return nil
}

// lookAt reads what tells of a store: its file or, where that cannot be used, what its
// newest checkpoint says of it.
func (f *finding) lookAt(name string) (*foundStore, error) {
	path := storeFile(f.home, name)
	rec, err := readNote(path)
	var s record.Store
	if err == nil {
		s, err = storeIn(rec, name)
	}
	if err != nil {
		var from string
		if s, from = newestWord(filepath.Dir(path), name); from == "" {
			return nil, err
		}
		f.warn("%v: taken from %s", err, from)
	}
	if beside := filepath.Join(filepath.Dir(path), filepath.Base(s.BundlePath)); !isDir(s.BundlePath) && isDir(beside) {
		s.BundlePath = beside // the home has been moved
	}
	return &foundStore{Store: s, base: s.Base, noted: s.NextVersion}, nil
}

// storeIn gives the store of a record, if it can be one.
func storeIn(rec *record.Record, name string) (s record.Store, err error) {
	if err := rec.Get("store", &s); err != nil {
		return s, err
	}
	switch {
	case s.Name != name || ValidName(s.Name) != nil:
		return s, fmt.Errorf("it tells of a store %q", s.Name)
	case s.ID == "":
		return s, missingField("id")
	case !filepath.IsAbs(s.BundlePath):
		return s, missingField("bundle_path")
	case !filepath.IsAbs(s.MountPath):
		return s, missingField("mount_path")
	case ValidStatus(s.Status) != nil:
		return s, fmt.Errorf("unknown status %q", s.Status)
	}
	s.NextVersion = min(max(s.NextVersion, 1), maxVersion)
	return s, nil
}

// maxVersion is a bound that no store comes to.
const maxVersion = 1 << 53

func missingField(name string) error { return fmt.Errorf("it has no %q", name) }

// newestWord gives what the newest checkpoint that tells of its store says; from is ""
// where there is none.
func newestWord(dir, name string) (s record.Store, from string) {
	dir = filepath.Join(dir, "checkpoints")
	for _, v := range slices.Backward(versionsIn(dir)) {
		path := filepath.Join(dir, formatVersion(v), record.CheckpointFile)
		rec, err := readNote(path)
		if err != nil {
			continue
		}
		if s, err = storeIn(rec, name); err == nil {
			return s, path
		}
	}
	return s, ""
}

// versionsIn gives the versions that have a directory, in order.
func versionsIn(dir string) []int64 {
	var list []int64
	for _, name := range subdirs(dir) {
		if v, ok := parseVersion(name); ok && v < maxVersion {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return list
}

// refuseClash refuses a store that another one, found before, is in the way of.
func (f *finding) refuseClash(s *foundStore) error {
	for _, o := range f.stores {
		switch {
		case o.ID == s.ID:
			return fmt.Errorf("it is a copy of store %q", o.Name)
		case strings.EqualFold(o.Name, s.Name):
			return fmt.Errorf("store %q has its name", o.Name)
		case o.MountPath == s.MountPath:
			return fmt.Errorf("store %q has its mount path %s", o.Name, s.MountPath)
		case filepath.Dir(o.BundlePath) == filepath.Dir(s.BundlePath):
			return fmt.Errorf("store %q has its directory %s", o.Name, filepath.Dir(s.BundlePath))
		}
	}
	return nil
}

func (f *finding) lookForCheckpoints(s *foundStore) {
	for _, v := range versionsIn(checkpointsDir(&s.Store)) {
		dir := filepath.Join(checkpointsDir(&s.Store), formatVersion(v))
		c, err := checkpointIn(dir, s.ID, v)
		if err != nil {
			f.warn("%s: taken as it is: %v", dir, err)
			if c, err = guessed(dir, s.ID, v); err != nil {
				f.warn("%s is left out: %v", dir, err)
				continue
			}
		}
		s.checkpoints = append(s.checkpoints, c)
		s.NextVersion = max(s.NextVersion, v+1)
	}
}

// checkpointIn reads what record.json in a directory says of its checkpoint.
func checkpointIn(dir, storeID string, version int64) (*record.Checkpoint, error) {
	rec, err := readNote(filepath.Join(dir, record.CheckpointFile))
	if err != nil {
		return nil, err
	}
	var c record.Checkpoint
	if err := rec.Get("checkpoint", &c); err != nil {
		return nil, err
	}
	if c.Version != version || c.StoreID != storeID {
		return nil, fmt.Errorf("%s is of another checkpoint", record.CheckpointFile)
	}
	c.Dir, c.Status = dir, record.CheckpointReady
	if c.ID > maxVersion {
		c.ID = 0
	}
	if c.BootID == "" || c.BootID != bootID() { // whoever made it durable has noted that where it is lost
		c.BootID, c.DurableAt = "", &c.CreatedAt
	}
	return &c, nil
}

// guessed tells of a checkpoint what its directory shows.
func guessed(dir, storeID string, version int64) (*record.Checkpoint, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	made := st.ModTime().UTC()
	c := &record.Checkpoint{
		StoreID: storeID, Version: version, Parent: version - 1, Dir: dir, Message: "(recovered)",
		Status: record.CheckpointReady, CreatedAt: made, DurableAt: &made,
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && strings.Trim(e.Name(), "0123456789abcdef") == "" {
			c.Bands++
			c.Bytes += info.Size()
		}
	}
	if c.Bands == 0 {
		return nil, fmt.Errorf("no bands are in it")
	}
	return c, nil
}

// readNote reads one of the files that tell of stores and checkpoints.
func readNote(path string) (*record.Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rec := record.New()
	if err := json.Unmarshal(text, rec); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rec, nil
}
