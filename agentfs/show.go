package main

import (
	"context"
	"path/filepath"
	"strings"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) showVerb() *command.Verb {
	return &command.Verb{
		Name: "show", Args: "VERSION:PATH | VERSION PATH", Min: 1, Max: 2,
		Short: "print a file as it was",
		Long: `
Writes the file's bytes to standard output; of a directory the names in it, those of
directories with a slash at the end. PATH begins at the root of the tree, or with
./ where you stand; VERSION: alone is the root.`,
		Run: a.show,
	}
}

func (a *app) show(ctx context.Context, _ command.IO, args []string) error {
	v, path, ok := strings.Cut(args[0], ":")
	if len(args) == 2 {
		v, path, ok = args[0], args[1], true
	}
	if !ok || !versionShape.MatchString(v) {
		return status.Errorf(status.Usage, "show: %q is no VERSION:PATH", args[0]).WithHint("agentfs show v3:src/app.ts")
	}
	if a.json {
		return status.Errorf(status.Usage, "show: a file's bytes cannot be --json").WithHint("agentfs show %s:%s", v, path)
	}
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	_, st, cp, err := a.checkpoint(ctx, name, v)
	if err != nil {
		return err
	}
	if path, err = a.fromRoot(st, path); err != nil {
		return err
	}
	return a.run.Pass(ctx, nil, a.io.Out, sides{store: st, from: cp}.aside("treediff", "show", treeMark, "--", path))
}

// fromRoot gives a path as seen from the root of the tree, where it begins unless it
// is absolute or says with ./ or ../ that it begins where the caller stands.
func (a *app) fromRoot(st record.Store, path string) (string, error) {
	first, _, _ := strings.Cut(path, "/")
	if filepath.IsAbs(path) || first == "." || first == ".." {
		paths, err := a.inTree(st, []string{path})
		if err != nil {
			return "", err
		}
		return paths[0], nil
	}
	return filepath.Clean(path), nil
}
