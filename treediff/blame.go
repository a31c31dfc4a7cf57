package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/treediff/internal/blame"
	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/trees"
	"agentfs.internal/treediff/patch"
)

type blameOptions struct {
	*pairOptions
	text bool
}

func blameVerb(pair *pairOptions) *command.Verb {
	o := &blameOptions{pairOptions: pair}
	return &command.Verb{
		Name:  "blame",
		Args:  "TREE PATH",
		Short: "say of each line of a file which change it comes from",
		Long: `
Standard input is the history of the file, newest first: a record for each change,
as the comparison writes them with --hunks, with whatever other keys say when and
by whom; the change that is not saved yet may be the first. It ends with the one
that added the file, or where no more is known.

Lines that follow each other and come from one change are one record: that of the
change with "lines", counted from 1, in the place of "change". Lines that are older
than the history have "unknown" instead. With --text each line is a record, with
its text, without the newline.

No symbolic link is followed.

in: change, a line each, other keys; out: lines, text, unknown, the other keys`,
		Min: 2, Max: 2,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&o.text, "text", false, "write a record for each line, with its text")
		},
		Run: o.run,
	}
}

func (o *blameOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	if err := o.none("blame"); err != nil {
		return err
	}
	history, err := record.InputAll(ctx, stdio.In)
	if err != nil {
		return err
	}
	lines, err := textLines(args[0], args[1])
	if err != nil {
		return err
	}
	from, err := follow(history, len(lines))
	if err != nil {
		return fmt.Errorf("%s: %w", args[1], err)
	}
	return o.write(stdio.Out, history, lines, from)
}

// write writes the lines that follow each other and come from one change as one
// record, or with --text each as its own.
func (o *blameOptions) write(w io.Writer, history []*record.Record, lines []string, from []int) error {
	out := bufio.NewWriter(w)
	for first := 0; first < len(lines); {
		end := first + 1
		for !o.text && end < len(lines) && from[end] == from[first] {
			end++
		}
		rec, err := o.origin(history, from[first], lines[first:end], first)
		if err != nil {
			return err
		}
		if err := rec.Write(out); err != nil {
			return err
		}
		first = end
	}
	return out.Flush()
}

// textLines reads the lines of a file of a tree.
func textLines(tree, path string) ([]string, error) {
	paths, err := trees.CleanPaths([]string{path})
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: is a dir, not a file", path)
	}
	root, err := dir.Open(tree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	content, err := regular(root, paths[0])
	if err != nil {
		return nil, inTree(path, err)
	}
	lines, binary := patch.Lines(content)
	if binary {
		return nil, fmt.Errorf("%s: binary, it has no lines", path)
	}
	return lines, nil
}

// regular reads a file to which no symbolic link leads: what it links to has a
// history of its own.
func regular(root *dir.Dir, path string) ([]byte, error) {
	at, name := trees.Split(path)
	d, err := root.Below(at)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	info, err := d.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.IsRegular():
		return nil, errors.New("is a " + info.TypeName() + ", not a file")
	case info.Size > longest:
		return nil, fmt.Errorf("longer than %d MiB", longest>>20)
	}
	return readFile(d, name, info.Size)
}

// follow finds which record of the history each line comes from.
func follow(history []*record.Record, lines int) ([]int, error) {
	b := blame.New(lines)
	for i, rec := range history {
		if !b.Open() {
			break
		}
		older, err := back(b, i, rec)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", saved(rec), err)
		}
		if !older {
			break
		}
	}
	return b.From(), nil
}

// back goes back behind one record, and tells whether the file was there before.
func back(b *blame.Blame, i int, rec *record.Record) (older bool, err error) {
	var c record.Change
	if err := rec.Get("change", &c); err != nil {
		return false, err
	}
	switch c.Kind {
	case record.ChangeModified:
		if len(c.Hunks) > 0 {
			return true, b.Back(i, c.Hunks)
		}
		if !sameLines(&c) {
			b.Rest(i) // it is not known which
		}
		return true, nil
	case record.ChangeRenamed, record.ChangeMetadata:
		return true, nil
	case record.ChangeAdded, record.ChangeType:
		b.Rest(i)
		return false, nil
	case record.ChangeDeleted:
		return false, nil
	}
	return false, fmt.Errorf("unknown kind of change %q", c.Kind)
}

// sameLines tells whether no line was found to differ: a file in use may have been
// changed, and changed back.
func sameLines(c *record.Change) bool {
	return !c.Binary && c.LinesAdded != nil && c.LinesDeleted != nil && *c.LinesAdded == 0 && *c.LinesDeleted == 0
}

// saved names the checkpoint of a record for people.
func saved(rec *record.Record) string {
	var cp record.Checkpoint
	if !rec.Has("checkpoint") {
		return "what is not saved yet"
	}
	if err := rec.Get("checkpoint", &cp); err != nil {
		return "a checkpoint"
	}
	return fmt.Sprintf("v%d", cp.Version)
}

// origin is the record of lines that come from one change.
func (o *blameOptions) origin(history []*record.Record, change int, lines []string, first int) (*record.Record, error) {
	rec := record.New()
	if change != blame.Unknown {
		rec = history[change].Without("change")
	}
	err := rec.Set("lines", record.Lines{First: first + 1, Last: first + len(lines)})
	if change == blame.Unknown {
		err = errors.Join(err, rec.Set("unknown", true))
	}
	if o.text {
		s, exact := text(strings.TrimSuffix(lines[0], "\n"))
		err = errors.Join(err, rec.Set("text", s))
		if exact != nil {
			err = errors.Join(err, rec.Set("text_bytes", exact))
		}
	}
	return rec, err
}
