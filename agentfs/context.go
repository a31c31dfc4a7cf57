package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// contextFile names the store of the directory that it is in.
const contextFile = ".agentfs"

// chosen gives the store's name: the argument where there is one, else the one
// selected by flag, environment, context file or place.
func (a *app) chosen(ctx context.Context, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], checkName(args[0])
	}
	return a.selected(ctx)
}

func (a *app) selected(ctx context.Context) (string, error) {
	if a.store != "" {
		return a.store, checkName(a.store)
	}
	name, err := contextName(a.cwd)
	if name != "" || err != nil {
		return name, err
	}
	if a.cwd != "" {
		if name := a.linkedHere(physical(a.cwd)); name != "" {
			return name, nil
		}
	}
	st, err := a.mountedHere(ctx)
	if err != nil || st.Name != "" {
		return st.Name, err
	}
	return "", status.Errorf(status.NoStore, "No store selected").
		WithHint("Use --store or run 'agentfs use <name>'")
}

// contextName looks for the context file in dir and the directories above it.
// A directory of that name without a file 'store' holds databases only.
func contextName(dir string) (string, error) {
	for dir != "" {
		name, err := readContext(filepath.Join(dir, contextFile))
		if name != "" || err != nil {
			return name, err
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return "", nil
}

func readContext(path string) (string, error) {
	st, err := os.Stat(path)
	if err == nil && st.IsDir() {
		path = filepath.Join(path, "store")
		st, err = os.Stat(path)
	}
	if err != nil || !st.Mode().IsRegular() {
		return "", nil // none here, or not for us to look into
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	name := string(bytes.TrimSpace(text))
	if checkName(name) != nil {
		return "", status.Errorf(status.General, "%s: %s is not a store's name", path, quoted(name)).
			WithHint("agentfs use <name>")
	}
	return name, nil
}

// mountedHere gives the store in whose mount the caller stands, or else the one
// whose mountpoint is in the caller's directory, if there is just one: who has left
// the mount by 'cd ..' means the same store. One without a name where there is none.
func (a *app) mountedHere(ctx context.Context) (record.Store, error) {
	var found record.Store
	if a.cwd == "" {
		return found, nil
	}
	stores, err := a.stores(ctx)
	here := physical(a.cwd)
	var below []record.Store
	for _, st := range stores {
		if within(here, st.MountPath) && len(st.MountPath) > len(found.MountPath) {
			found = st
		}
		if filepath.Dir(st.MountPath) == here {
			below = append(below, st)
		}
	}
	if found.Name == "" && len(below) == 1 {
		found = below[0]
	}
	return found, err
}

// stores lists all stores, those too that are not ready.
func (a *app) stores(ctx context.Context) ([]record.Store, error) {
	recs, err := a.run.List(ctx, nil, pipeline.Tool("cpdb", "store", "list", "--all"))
	return collect[record.Store](recs, "store", err)
}

// collect takes one key out of each record of a list.
func collect[T any](recs []*record.Record, key string, err error) ([]T, error) {
	list := make([]T, len(recs))
	for i, rec := range recs {
		if err == nil {
			err = rec.Get(key, &list[i])
		}
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}
