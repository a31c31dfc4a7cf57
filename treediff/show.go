package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
	"agentfs.internal/treediff/internal/dir"
)

func showVerb(pair *pairOptions) *command.Verb {
	return &command.Verb{
		Name:  "show",
		Args:  "TREE PATH",
		Short: "write a file of a tree, or the names in a directory",
		Long: `
Of a directory the names are written, one a line, directories with a slash behind
them. Symbolic links are followed within the tree, never out of it.

in: nothing; out: the file's bytes, or names`,
		Min: 2, Max: 2,
		Run: func(_ context.Context, stdio command.IO, args []string) error {
			if err := pair.none("show"); err != nil {
				return err
			}
			return show(stdio.Out, args[0], args[1])
		},
	}
}

// none refuses flags that are for the comparison of two trees.
func (o *pairOptions) none(verb string) error {
	if o.oneImage || !o.parted.IsZero() || o.changed != "" {
		return status.Errorf(status.Usage, "%s: --one-image, --parted and --changed are for two trees", verb).WithHint("treediff %s -h", verb)
	}
	return o.verb(verb)
}

// verb refuses flags that are for the comparison without a verb.
func (o *pairOptions) verb(verb string) error {
	if flag := o.alone(); flag != "" {
		return status.Errorf(status.Usage, "%s: --%s is for a comparison", verb, flag).WithHint("treediff %s -h", verb)
	}
	return nil
}

func show(out io.Writer, tree, path string) error {
	root, err := dir.Open(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.Within(path)
	if err != nil {
		return inTree(path, err)
	}
	defer f.Close()
	if !f.IsDir() {
		_, err = io.Copy(out, f)
		return err
	}
	d, err := f.Dir()
	if err != nil {
		return err
	}
	defer d.Close()
	return list(out, d)
}

// inTree is an error about a path: of the tree, only the path in it means something
// to people.
func inTree(path string, err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", shown(path), err)
}

func list(out io.Writer, d *dir.Dir) error {
	entries, err := d.Entries()
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(x, y dir.Entry) int { return strings.Compare(x.Name, y.Name) })
	w := bufio.NewWriter(out)
	for _, e := range entries {
		name := e.Name
		info, err := d.Stat(name)
		if dir.Gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			name += "/"
		}
		_, _ = w.WriteString(name + "\n") // Flush tells
	}
	return w.Flush()
}
