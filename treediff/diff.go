package main

import (
	"bufio"
	"context"
	"flag"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
	"agentfs.internal/treediff/internal/trees"
)

// diffOptions are the flags of the comparison. They are global ones to the command
// tree: the verbs refuse them, see alone.
type diffOptions struct {
	*pairOptions
	times, noRenames       bool
	hunks                  bool
	patch, stat, namesOnly bool
}

func diffVerb(pair *pairOptions) *command.Verb {
	o := &diffOptions{pairOptions: pair}
	return &command.Verb{
		Name:  "treediff",
		Args:  "A B [-- PATH…]",
		Short: "compare two directory trees, and make one like the other",
		Long: `
Without a verb: writes what differs in B, the tree after, from A, the tree before:
one record a line, sorted by path, parents before what is below them. With PATHs,
relative to the roots, only these and what is below them.

Compared are types, contents, targets of symbolic links, modes, owners, extended
attributes with access control lists, hard links, and with --times the times of
the last change. A file was renamed where exactly one that is gone and one that
is new have the same content.

With --one-image a file whose inode number, size and times agree has not
changed and is not read. --parted makes that safe for files that were changed
within a clock tick of the moment when the images parted: they are read.
--changed names a file with the numbers of the inodes that may have changed, "12"
or "12-40" a line, or "all": all others are not even looked at.

With --hunks the record of a text file that was modified says which lines of A
became which of B: [first in A, how many, first in B, how many], counted from 0.

No symbolic link below the roots is followed; what is mounted below them is left
out, and named on standard error. A and B may be /dev/fd/N.

in: nothing; out: change, a line each, or with --patch, --stat, --name-only text
of git's shape. What git's patches cannot say is named on standard error.

Exit status: 0 done, whether or not there are differences, 1 error, 2 usage, 5
something is mounted in what apply would delete.

Example:

  treediff before after | jq -r .change.path
  treediff before after --patch -- src >src.patch
  treediff apply before after
  treediff before after --hunks -- main.go | treediff blame after main.go`,
		Min: 2, Max: -1,
		Flags: o.flags,
		Run:   o.run,
	}
}

func (o *diffOptions) flags(fs *flag.FlagSet) {
	o.pairOptions.flags(fs)
	fs.BoolVar(&o.times, "times", false, "report what differs in nothing but the time of the last change, too")
	fs.BoolVar(&o.noRenames, "no-renames", false, "report a renamed file as one deleted and one added")
	fs.BoolVar(&o.hunks, "hunks", false, "say of modified text files which lines differ")
	fs.BoolVar(&o.patch, "patch", false, "write a patch, as git does")
	fs.BoolVar(&o.stat, "stat", false, "write a line with a bar for each file, as git diff --stat does")
	fs.BoolVar(&o.namesOnly, "name-only", false, "write the paths, a line each")
	o.alone = o.anySet
}

// anySet names a flag that was given and is only for the comparison.
func (o *diffOptions) anySet() string {
	for name, set := range map[string]bool{
		"times": o.times, "no-renames": o.noRenames, "hunks": o.hunks, "patch": o.patch, "stat": o.stat, "name-only": o.namesOnly,
	} {
		if set {
			return name
		}
	}
	return ""
}

func (o *diffOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	write, err := o.writer()
	if err != nil {
		return err
	}
	pair, err := o.open(args)
	if err != nil {
		return err
	}
	defer closePair(pair)
	pair.Times = o.times
	found, err := pair.Compare(ctx)
	if err != nil {
		return err
	}
	if !o.noRenames {
		if err := pair.Renames(ctx, found); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(stdio.Out)
	notes, err := write(ctx, out, pair, found.Differences)
	if err != nil {
		return err
	}
	tellMounts(stdio.Err, found.Mounts)
	notes.tell(stdio.Err)
	return out.Flush()
}

// writer chooses how differences are written.
func (o *diffOptions) writer() (write, error) {
	chosen := write(o.writeRecords)
	n := 0
	for _, way := range []struct {
		set bool
		write
	}{{o.patch, writePatch}, {o.stat, writeStat}, {o.namesOnly, writeNames}} {
		if way.set {
			chosen = way.write
			n++
		}
	}
	if n > 1 {
		return nil, status.Errorf(status.Usage, "--patch, --stat and --name-only exclude each other")
	}
	if n > 0 && o.hunks {
		return nil, status.Errorf(status.Usage, "--hunks is for records")
	}
	return chosen, nil
}

// write writes differences, and gives what it could not say.
type write func(context.Context, *bufio.Writer, *trees.Pair, []trees.Difference) (notes, error)
