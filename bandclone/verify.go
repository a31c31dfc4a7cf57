package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"

	"agentfs.internal/bandclone/internal/damage"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

type verifyOptions struct {
	also     []string
	bundle   string
	quick    bool
	progress bool
}

func verifyVerb() *command.Verb {
	o := &verifyOptions{}
	return &command.Verb{
		Name: "verify", Args: "[DIR…]", Max: -1,
		Short: "find damage in checkpoints",
		Long: `
Reads every band from the disk and compares it with SHA256SUMS and record.json in its
directory. A band that several of the checkpoints share is read once. The kinds of
damage: missing, short, changed, exchanged, foreign, unreadable; of record.json and
SHA256SUMS, too. "sound" names a file with the right content, read and found so: in
another checkpoint beside it, or in an --also directory, where there are sums or else
in the band of the same name. A bundle's directory stands for its live bands and all its
checkpoints.

With --bundle sound bands are also looked for in its live ones; and where one of these is
the damaged file of a checkpoint, that is a damage of the live bands, too.

--quick looks at names and lengths, and reads a checkpoint's bands only where these are
wrong. Without SHA256SUMS nothing is known of the bands' content; it says so.

in: checkpoint; out: one damage a line; exit status 1 if there is any`,
		Flags: func(fs *flag.FlagSet) {
			fs.Func("also", "look for sound bands in this `DIR`, too", func(s string) (err error) {
				s, err = filepath.Abs(s)
				o.also = append(o.also, s)
				return err
			})
			fs.StringVar(&o.bundle, "bundle", "", "the `BUNDLE` whose checkpoints these are")
			fs.BoolVar(&o.quick, "quick", false, "look at names and lengths only")
			fs.BoolVar(&o.progress, "progress", false, "show progress also where standard error is no terminal")
		},
		Run: o.run,
	}
}

func (o *verifyOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	paths, rec, err := checkpointDirs(ctx, stdio, args)
	if err != nil {
		return err
	}
	s, err := o.open(paths)
	defer closeTrees(s)
	if err != nil {
		return err
	}
	for _, t := range s.Trees {
		if t.Unsummed() && !o.quick {
			fmt.Fprintf(stdio.Err, "bandclone: %s: not summed: what its bands should hold is not known\n", t.Path)
		}
	}
	p := startProgress(stdio.Err, o.progress, "Verifying bands...")
	defer p.stop()
	p.total.Store(s.Bytes())
	s.Read = p.add
	found, err := s.Run(ctx)
	if err != nil {
		return err
	}
	p.stop()
	for _, d := range found {
		if err := rec.Set("damage", d); err != nil {
			return err
		}
		if err := rec.Write(stdio.Out); err != nil {
			return err
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		return status.Errorf(status.General, "verify: 1 damage")
	}
	return status.Errorf(status.General, "verify: %d damages", len(found))
}

// open opens the checkpoints, and what may hold their sound content.
func (o *verifyOptions) open(paths []string) (*damage.Search, error) {
	s := &damage.Search{Quick: o.quick}
	mine, asked := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		if mine[path] {
			continue
		}
		mine[path] = true
		t, err := damage.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			if len(paths) > 1 {
				continue // deleted meanwhile
			}
			err = status.Errorf(status.NoCheckpoint, "no checkpoint at %s", path)
		}
		if err != nil {
			return s, err
		}
		s.Trees = append(s.Trees, t)
		asked[filepath.Dir(path)] = true
	}
	others, err := beside(asked)
	if err != nil {
		return s, err
	}
	for _, path := range others {
		if mine[path] {
			continue
		}
		t, err := damage.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, err
		}
		s.Known = append(s.Known, t)
	}
	s.More = o.openAlso
	return s, o.openLive(s)
}

// openAlso opens what else may hold sound content. What cannot be opened holds none.
func (o *verifyOptions) openAlso() []*damage.Tree {
	var trees []*damage.Tree
	for _, path := range o.also {
		all := []string{path}
		if live := filepath.Join(path, bandsName); exists(live) {
			all = []string{live}
			if others, err := beside(map[string]bool{filepath.Join(filepath.Dir(path), checkpointsName): true}); err == nil {
				all = append(all, others...)
			}
		}
		for _, path := range all {
			if t, err := damage.Open(path); err == nil {
				trees = append(trees, t)
			}
		}
	}
	return trees
}

// openLive opens the live bands.
func (o *verifyOptions) openLive(s *damage.Search) error {
	if o.bundle == "" {
		return nil
	}
	path, err := filepath.Abs(o.bundle)
	if err != nil {
		return err
	}
	t, err := damage.Open(filepath.Join(path, bandsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Live, s.Known = t, append(s.Known, t)
	s.OpenLost(filepath.Join(filepath.Dir(path), checkpointsName), lostPrefix, wasSuffix)
	return nil
}

// beside gives the paths of all checkpoints in some directories.
func beside(dirs map[string]bool) ([]string, error) {
	var paths []string
	for path := range dirs {
		d, err := dir.Open(path)
		if err != nil {
			return nil, err
		}
		versions, err := stage.Versions(d)
		d.Close()
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			paths = append(paths, filepath.Join(path, fmt.Sprintf("v%d", v)))
		}
	}
	return paths, nil
}

func closeTrees(s *damage.Search) {
	for _, list := range [][]*damage.Tree{s.Trees, s.Known} {
		for _, t := range list {
			t.Close()
		}
	}
}
