package db

import (
	"os"
	"path/filepath"
	"strings"

	"agentfs.internal/tool/record"
)

// orphanCheckpoints finds what a checkpoint's maker left behind: directories vN
// without a row, and hidden ones (.vN…, where a clone grows before its rename)
// without a row that still waits for them.
func orphanCheckpoints(s *record.Store, list []*record.Checkpoint) []record.Problem {
	status := map[int64]string{}
	for _, c := range list {
		if c.Status != record.CheckpointPruned { // which has no files any more
			status[c.Version] = c.Status
		}
	}
	var found []record.Problem
	for _, name := range subdirs(checkpointsDir(s)) {
		version, hidden, ok := checkpointName(name)
		has := status[version]
		if !ok || has != "" && !hidden || hidden && has != "" && has != record.CheckpointReady {
			continue
		}
		text := "a directory of bands without a checkpoint"
		if hidden {
			text = "left by a clone that did not end"
		}
		found = append(found, record.Problem{Kind: KindOrphan, Store: s.Name, Version: version, Path: filepath.Join(checkpointsDir(s), name), Text: text})
	}
	return found
}

// checkpointName takes apart vN and .vN…; a hidden name may say no version.
func checkpointName(name string) (version int64, hidden, ok bool) {
	rest, hidden := strings.CutPrefix(name, ".v")
	if !hidden {
		version, ok = parseVersion(name)
		return version, false, ok
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	version, _ = parseVersion("v" + rest[:digits])
	return version, true, true
}

// orphanStores finds directories in the place for stores that hold no store's
// bundle.
func orphanStores(home string, stores []*record.Store) []record.Problem {
	root := filepath.Join(home, "stores")
	known := map[string]bool{}
	for _, s := range stores {
		known[s.Name] = true // which tells of it, wherever the bundle lies
		if rel, err := filepath.Rel(root, s.BundlePath); err == nil {
			top, _, _ := strings.Cut(rel, string(filepath.Separator))
			known[top] = true
		}
	}
	var found []record.Problem
	for _, name := range subdirs(root) {
		if !known[name] {
			found = append(found, record.Problem{Kind: KindOrphan, Path: filepath.Join(root, name), Text: "a store's directory without a store"})
		}
	}
	return found
}

// subdirs names the directories in dir, sorted, none if it does not exist.
func subdirs(dir string) []string {
	entries, _ := os.ReadDir(dir) // one that cannot be read is reported by whoever needs what is in it
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
