package main

import (
	"context"
	"errors"
	"io/fs"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

// spareName is a directory of links beside the checkpoints: the start of the
// next one. It is no checkpoint, may be removed at any time, and may hold
// anything: create takes from it only what the live bands still are.
const spareName = ".spare"

// leftovers matches the names that create, spare, repair and rm give temporarily.
const leftovers = `\.v\d+|\` + spareName + `|\` + repairName

var spareFilled = fault.Define("bandclone.spare.filled")

func spareVerb() *command.Verb {
	return &command.Verb{
		Name: "spare", Args: "[DIR]", Max: 1,
		Short: "make the next checkpoint ready",
		Long: `
Links the bands of the checkpoint DIR into a directory beside it, from which the
next create starts: it then links only what has changed, however many bands there
are. Worth doing after a create, when nobody waits. Where clones are not links it
does nothing.

in: checkpoint; out: the same`,
		Run: func(ctx context.Context, stdio command.IO, args []string) error {
			rec, err := record.Input(ctx, stdio.In, len(args) == 1)
			if err != nil {
				return err
			}
			path := ""
			if len(args) == 1 {
				path = args[0]
			} else if err := fromRecord(rec, nil, &path, nil); err != nil {
				return err
			}
			if err := makeSpare(path); err != nil && !dir.Cannot(err) {
				return err
			}
			return rec.Write(stdio.Out)
		},
	}
}

// makeSpare makes the spare a copy of the checkpoint at path.
func makeSpare(path string) error {
	beside, name, err := split(path)
	if err != nil {
		return err
	}
	defer beside.Close()
	from, err := beside.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	want, err := bands.Read(from)
	if err != nil || bands.Methods[0] != bands.Link {
		return err
	}
	s, err := stage.Adopt(beside, spareName, spareName)
	if err == nil && s == nil {
		s, err = stage.New(beside, spareName, beside.Mkdir)
	}
	if err != nil {
		return err
	}
	err = match(s, want)
	if err == nil {
		err = spareFilled.Reach()
	}
	if err == nil {
		err = s.Publish(spareName)
	}
	if err != nil {
		s.Discard()
		return err
	}
	s.Close()
	return nil
}

// match makes the directory hold exactly the bands of want, by links.
func match(s *stage.Dir, want *bands.Set) error {
	have, err := bands.Read(s.Dir)
	if err != nil {
		return err
	}
	return bands.Pairs(want, have, func(p bands.Pair) error {
		if p.SameFile() {
			return nil
		}
		if p.InB {
			if err := s.Unlink(bands.Name(p.Num)); err != nil {
				return err
			}
		}
		if p.InA {
			return want.Dir.Link(s.Dir, p.A.Name())
		}
		return nil
	})
}

// dropSpare removes the spare: it would keep the space of a checkpoint that is
// deleted.
func dropSpare(beside *dir.Dir) error {
	err := stage.Trash(beside, spareName, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
