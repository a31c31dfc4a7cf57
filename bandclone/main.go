// Bandclone makes copy-on-write clones of a directory of bands.
//
//	bandclone create  [--bundle BUNDLE --to DIR] [--parent DIR] [--method M] [--sync=false] [--reserve=false]
//	bandclone restore [--bundle BUNDLE --from DIR] [--method M]
//	bandclone restore --finish|--undo [--bundle BUNDLE]
//	bandclone compare [A B] [--quick]
//	bandclone du      [--bundle BUNDLE] [--freed vN …]
//	bandclone rm      [DIR]
//	bandclone spare   [DIR]
//	bandclone copy    --to DIR [--progress]
//	bandclone sync    [DIR…] [--parent DIR] [--check]
//	bandclone sum     [DIR…] [--parent DIR] [--rest] [--progress]
//	bandclone verify  [DIR…] [--bundle BUNDLE] [--also DIR …] [--quick] [--progress]
//	bandclone repair
//	bandclone sweep   [--bundle BUNDLE] [--dry-run]
//
// The bands of a disk image are the files BUNDLE/bands/0 1 … a b … 10 …. A
// checkpoint is a directory with every one of them, complete or not there at
// all, and never written again; where there was a record, record.json beside the
// bands keeps what it said of the checkpoint. Create makes one, restore makes one the live
// bands, compare tells which bands differ, du what deleting one would give back,
// rm deletes one, spare makes the next one ready, sync sees to it that a power cut
// does not take them. Sum writes down what the bands hold, verify finds what has been
// damaged since, repair repairs it, sweep removes what dead commands have left, copy
// takes checkpoints to another disk.
//
// A clone is made by hard links (method link), by one clonefile of the directory
// (clonefile, macOS), by reflinks (reflink) or by copying the data (copy): the
// first of them that the filesystem can, or the one that --method names. A
// hard link is a clone because the band server never writes to a band with more
// than one link: it copies the band first.
//
// Records: create and restore read "store" and "checkpoint" and add "clone";
// restore --finish, --undo and sweep read "store"; compare reads "store" and
// "checkpoint" and adds "compare"; du reads "store" and writes one "usage" a
// line; rm, spare, sum and verify read "checkpoint", sum writes one "summed" and verify
// one "damage" a line; repair reads a list of those, sync one "checkpoint" a line, with
// "parent" where there is one, copy, too, with "store", and it adds "copied". With the flags or arguments above none is read.
//
// Exit status: 0 done, 1 error, 2 usage, 4 no such checkpoint, or one that is torn, 6 the filesystem
// cannot clone by the method asked for.
//
// Example:
//
//	bandclone create --bundle my.sparsebundle --to checkpoints/v1
//	bandclone du --bundle my.sparsebundle
//	bandclone restore --bundle my.sparsebundle --from checkpoints/v1
//	bandclone restore --finish --bundle my.sparsebundle
package main

import "agentfs.internal/tool/command"

func main() { command.Main(root()) }

// root is the command tree.
func root() *command.Verb {
	return &command.Verb{
		Name:  "bandclone",
		Short: "copy-on-write clones of a directory of bands",
		Verbs: []*command.Verb{
			createVerb(), restoreVerb(), compareVerb(), duVerb(), rmVerb(), spareVerb(), syncVerb(),
			sumVerb(), verifyVerb(), repairVerb(), sweepVerb(), copyVerb(),
		},
	}
}
