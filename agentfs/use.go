package main

import (
	"context"
	"os"
	"path/filepath"

	"agentfs.internal/tool/command"
)

func (a *app) useVerb() *command.Verb {
	return &command.Verb{
		Name: "use", Args: "NAME", Min: 1, Max: 1,
		Short: "set the store for the current directory",
		Long: `
Writes the store's name into the file .agentfs in the current directory, or, where
.agentfs is a directory, into .agentfs/store.`,
		Run: a.use,
	}
}

type used struct {
	Store string `json:"store"`
	File  string `json:"file"`
}

func (a *app) use(ctx context.Context, _ command.IO, args []string) error {
	name, err := a.chosen(ctx, args)
	if err != nil {
		return err
	}
	if _, _, err := a.get(ctx, name); err != nil {
		return err
	}
	path, err := a.abs(contextFile)
	if err != nil {
		return err
	}
	shown := contextFile
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path, shown = filepath.Join(path, "store"), filepath.Join(shown, "store")
	}
	_, err = os.Stat(path)
	did := map[bool]string{true: "Updated ", false: "Created "}[err == nil]
	if err := publish(path, name+"\n"); err != nil {
		return err
	}
	return a.result(used{name, path}, did+shown)
}

// publish puts a file into place by one rename: whoever reads it meanwhile finds
// the old name or the new one.
func publish(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".agentfs-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
