package main

import (
	"path/filepath"
	"slices"
	"strings"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

const bandsName = "bands"

// fromRecord fills in what no flag has told. A nil pointer is a fact that the
// verb does not need.
func fromRecord(rec *record.Record, bundle, checkpoint *string, parent *int64) error {
	if bundle != nil && *bundle == "" {
		var s record.Store
		if err := rec.Get("store", &s); err != nil {
			return err
		}
		if *bundle = s.BundlePath; s.BundlePath == "" {
			return status.Errorf(status.General, `record has no "store.bundle_path"`)
		}
	}
	if checkpoint == nil || *checkpoint != "" && !rec.Has("checkpoint") {
		return nil
	}
	var c record.Checkpoint
	if err := rec.Get("checkpoint", &c); err != nil {
		return err
	}
	if *checkpoint == "" {
		if *checkpoint = c.Dir; c.Dir == "" {
			return status.Errorf(status.General, `record has no "checkpoint.dir"`)
		}
	}
	if parent != nil {
		*parent = c.Parent
	}
	return nil
}

// openBands opens the live bands of a bundle.
func openBands(bundle *dir.Dir) (*dir.Dir, error) {
	live, err := bundle.Open(bandsName)
	if err == nil {
		return live, nil
	}
	if state, e := readSwap(bundle); e == nil && state.pending() {
		return nil, status.Errorf(status.General, "%w", err).WithHint("bandclone restore --undo --bundle %s", bundle.Path(""))
	}
	return nil, err
}

// split opens the directory that holds path, and gives the last name of path.
func split(path string) (parent *dir.Dir, name string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	parent, err = dir.Open(filepath.Dir(path))
	return parent, filepath.Base(path), err
}

// methods gives the methods to try for the value of --method.
func methods(name string) ([]bands.Method, error) {
	known := []bands.Method{bands.Link, bands.Clonefile, bands.Reflink, bands.Copy}
	m := bands.Method(name)
	switch {
	case name == "":
		return bands.Methods, nil
	case !slices.Contains(known, m):
		return nil, status.Errorf(status.Usage, "unknown method %q", name).WithHint("--method link, clonefile, reflink or copy")
	case !slices.Contains(bands.Methods, m):
		return nil, status.Errorf(status.CannotRun, "method %s cannot work on this system", m).WithHint("leave --method out, or --method %s", words(bands.Methods))
	}
	return []bands.Method{m}, nil
}

func words(list []bands.Method) string {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}

// cannot turns the failure of a method that was forced into a status and a hint.
func cannot(err error, forced string) error {
	if err == nil || forced == "" || !dir.Cannot(err) {
		return err
	}
	return status.Errorf(status.CannotRun, "method %s: %w", forced, err).WithHint("leave --method out: the first that works of %s", words(bands.Methods))
}
