// Treediff compares two directory trees, and makes one like the other.
//
//	treediff       A B [-- PATH…] [--one-image [--parted TIME] [--changed FILE]] [--times] [--no-renames] [--hunks] [--patch|--stat|--name-only]
//	treediff apply A B [-- PATH…] [--one-image [--parted TIME] [--changed FILE]] [--progress]
//	treediff show  TREE PATH
//	treediff blame TREE PATH [--text] <HISTORY
//	treediff pack   TREE [--format tar.zst|tar] [--output FILE] [--origin] [--progress]
//	treediff unpack DIR [--input FILE] [--devices] [--progress]
//
// A is the tree before, B after. The first writes one record a line for each path
// that differs; apply makes B like A in place and touches nothing but what
// differs; show writes a file of a tree, or the names in a directory; blame says of
// each line of a file which change of its history it comes from; pack writes a tree as
// a tar, unpack fills an empty directory from one.
//
// No symbolic link below the roots is followed, and no mount is entered: B may be
// in use, and by whom one would not trust. /dev/fd/N as A, B or TREE is the
// directory that this descriptor has open.
//
// Records: blame reads "change", a line for each, pack --origin "store" and
// "checkpoint"; the others read none. Writes "change", a line for each; apply writes
// "applied", blame "lines", "text" and "unknown", pack --output and unpack "packed",
// unpack "origin", too.
//
// Exit status: 0 done, whether or not there are differences, 1 error, 2 usage, 5
// something is mounted in what apply would delete.
//
// Example:
//
//	treediff before after | jq -r .change.path
//	treediff before after --patch -- src >src.patch
//	treediff apply before after
//	treediff show before src/main.go
//	treediff before after --hunks -- main.go | treediff blame after main.go
//	treediff pack before | ssh elsewhere treediff unpack /srv/before
package main

import "agentfs.internal/tool/command"

func main() { command.Main(root()) }

// root is the command tree: with two trees and no verb it compares.
func root() *command.Verb {
	pair := &pairOptions{}
	v := diffVerb(pair)
	v.Verbs = []*command.Verb{applyVerb(pair), showVerb(pair), blameVerb(pair), packVerb(pair), unpackVerb(pair)}
	return v
}
