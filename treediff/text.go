package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/trees"
	"agentfs.internal/treediff/patch"
)

// longest is how large a file may be, in bytes, to be looked into for lines.
const longest = 64 << 20

// notes are the paths that could not be said, by the reason.
type notes map[string][]string

func (n notes) tell(w io.Writer) {
	for _, why := range slices.Sorted(maps.Keys(n)) {
		tellSome(w, n[why], "not in the patch, "+why)
	}
}

// writeNames writes the paths.
func writeNames(_ context.Context, out *bufio.Writer, _ *trees.Pair, all []trees.Difference) (notes, error) {
	for i := range all {
		if _, err := fmt.Fprintln(out, patch.Quote(shown(all[i].Path))); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// writeStat writes git's summary of the files; directories are not in it.
func writeStat(ctx context.Context, out *bufio.Writer, pair *trees.Pair, all []trees.Difference) (notes, error) {
	lines, err := count(ctx, pair, all, false)
	if err != nil {
		return nil, err
	}
	var s patch.Stat
	for i := range all {
		d := &all[i]
		if n := lines[i]; inGit(d) && (isGit(&d.A) || isGit(&d.B)) {
			s.Add(d.Path, d.PathInA(), n.added, n.deleted, n.binary, d.A.Size, d.B.Size)
		}
	}
	return nil, s.Write(out)
}

// writePatch writes a patch.
func writePatch(_ context.Context, out *bufio.Writer, pair *trees.Pair, all []trees.Difference) (notes, error) {
	left := notes{}
	full := parents(all)
	for i := range all {
		d := &all[i]
		switch {
		case !inGit(d):
			left.add("it has no such metadata", d.Path)
			continue
		case (d.A.IsDir() || d.B.IsDir()) && (d.Kind != trees.Type && full[d.Path] || d.A.IsDir() && d.B.IsDir()):
			continue // what is in it tells of it
		case isLong(d):
			left.add("the file is too large", d.Path)
			continue
		}
		if err := writeOne(out, pair, d, left); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// inGit tells whether git sees such a difference: of modes it knows one bit.
func inGit(d *trees.Difference) bool {
	return d.Kind != trees.Metadata || isGit(&d.B) && (d.A.Mode^d.B.Mode)&0o100 != 0
}

// isGit tells whether git knows such a type.
func isGit(i *dir.Info) bool { return i.IsRegular() || i.IsSymlink() }

// isLong tells of a file that is too long to be looked into.
func isLong(d *trees.Difference) bool {
	return d.A.IsRegular() && d.A.Size > longest || d.B.IsRegular() && d.B.Size > longest
}

func (n notes) add(why, path string) { n[why] = append(n[why], path) }

// parents are the directories that have something in them that differs.
func parents(all []trees.Difference) map[string]bool {
	full := map[string]bool{}
	for i := range all {
		at, _ := trees.Split(all[i].Path)
		full[at] = true
		if all[i].Kind == trees.Renamed {
			at, _ = trees.Split(all[i].From)
			full[at] = true
		}
	}
	return full
}

// writeOne writes what git has for one path: a type that changes is a file that is
// deleted and one that is added.
func writeOne(out io.Writer, pair *trees.Pair, d *trees.Difference, left notes) error {
	f, err := load(pair, d)
	if err != nil {
		return err
	}
	files := []patch.File{f}
	if d.Kind == trees.Type {
		files = nil
		if !d.A.IsDir() {
			files = append(files, patch.File{From: f.From, Path: f.Path, Old: f.Old})
		}
		if !d.B.IsDir() {
			files = append(files, patch.File{From: f.From, Path: f.Path, New: f.New})
		}
	}
	for _, f := range files {
		if why := patch.Skipped(f); why != "" {
			left.add(why, d.Path)
		} else if err := patch.Write(out, f); err != nil {
			return err
		}
	}
	return nil
}

// load reads both sides of a difference.
func load(pair *trees.Pair, d *trees.Difference) (f patch.File, err error) {
	f.From, f.Path = d.PathInA(), d.Path
	if f.Old, err = loadSide(pair.A, f.From, &d.A); err != nil {
		return f, err
	}
	f.New, err = loadSide(pair.B, f.Path, &d.B)
	return f, err
}

// loadSide reads a file or the target of a symbolic link. One that is gone since it
// was compared is empty: B is in use, and the comparison is of a moment ago.
func loadSide(root *dir.Dir, path string, info *dir.Info) (patch.Side, error) {
	side := patch.Side{Mode: info.Mode}
	var err error
	switch {
	case info.IsRegular():
		side.Content, err = readFile(root, path, info.Size)
	case info.IsSymlink():
		var target string
		target, err = readlink(root, path)
		side.Content = []byte(target)
	}
	if dir.Gone(err) {
		err = nil
	}
	return side, err
}

func readFile(root *dir.Dir, path string, size int64) ([]byte, error) {
	f, err := trees.OpenFile(root, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, size)
	n, err := f.ReadAt(buf, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

func readlink(root *dir.Dir, path string) (string, error) {
	at, name := trees.Split(path)
	d, err := root.Below(at)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return d.Readlink(name)
}
