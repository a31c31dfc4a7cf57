// Agentfs keeps a directory whose every moment can be saved in milliseconds and
// brought back: the front-end that people type.
//
//	agentfs init myapp                     make a store, mounted at ./myapp
//	cd myapp                               work in it with any tool
//	agentfs checkpoint create "before refactor"
//	agentfs restore v1                        everything as it was
//
// It holds no images, bands or tables itself. Each command is a pipeline of the
// tools cpdb, bundlectl, bandclone and treediff, which are found beside agentfs or on the
// PATH; with AGENTFS_TRACE=1 it prints them with their times:
//
//	cpdb checkpoint begin --store myapp --message "before refactor" |
//	  bundlectl quiesce -- bandclone create --sync=false |
//	  cpdb checkpoint commit
//
// # Commands
//
//	agentfs init NAME|PATH [--size SIZE] [--mount PATH] [--from DIR]
//	agentfs open NAME                      mount an existing store
//	agentfs close [NAME]                   unmount it
//	agentfs delete NAME                    delete it and all its checkpoints
//	agentfs list                           list all stores
//	agentfs use NAME                       set the store for the current directory
//	agentfs status                         show the current store and its state
//	agentfs checkpoint create [MESSAGE]    save the present
//	agentfs checkpoint list [--limit N]    list what is saved, newest first
//	agentfs checkpoint info VERSION
//	agentfs checkpoint delete VERSION
//	agentfs checkpoint pin VERSION         keep it from being pruned
//	agentfs checkpoint unpin VERSION
//	agentfs checkpoint prune [--keep N]    delete the oldest ones
//	agentfs checkpoint index               list the changes of those not looked at yet
//	agentfs checkpoint sync                make all durable against a power cut
//	agentfs checkpoint --auto              save if anything has changed, in silence
//	agentfs restore VERSION [-- PATH…]     bring a saved moment back
//	agentfs diff [VERSION [VERSION]] [-- PATH…]
//	                                       show what has changed
//	agentfs show VERSION:PATH | VERSION PATH
//	                                       print a file as it was
//	agentfs fork VERSION NAME|PATH [--mount PATH]
//	                                       make a second store of it
//	agentfs export VERSION [--output FILE] write its files as one archive
//	agentfs import [SOURCE] NAME|PATH      make a store of an archive, or of a backup
//	agentfs backup DEST [--prune]          copy a store's checkpoints to another disk
//	agentfs timeline [--since TIME] [--until TIME] [--agent NAME] [--path PATH] [--limit N]
//	                                       what has changed lately, a line a checkpoint
//	agentfs log [-- PATH…]                 checkpoints with why they were made
//	agentfs search TEXT…                   find checkpoints by words
//	agentfs blame PATH | VERSION:PATH | VERSION PATH
//	                                       which checkpoint last changed each line
//	agentfs verify [VERSION…]              find damage in checkpoints
//	agentfs doctor [--repair] [--deep]     look for everything that is wrong
//	agentfs config                         the settings in force
//	agentfs hooks install AGENT [--scope user|project] [--worktrees] [--dry-run]
//	                                       let a coding agent checkpoint by itself
//	agentfs hooks uninstall AGENT [--scope user|project] [--dry-run]
//	agentfs hooks status [AGENT]
//
// All take --store NAME, --json, -f (ask nothing), --home DIR, --trace and -h.
//
// # Which store
//
// A name given as an argument; else --store or AGENTFS_STORE; else the file
// .agentfs in this directory or one above it (or, where .agentfs is a directory,
// the file .agentfs/store), which 'agentfs use NAME' writes; else the store in
// whose mount the caller stands.
//
// # Output
//
// Standard output is the result: lines and tables for people, with --json one
// JSON document (lists are arrays, versions are "v4", times RFC 3339 in UTC,
// sizes bytes). Questions, warnings and errors go to standard error: one line
// "tool: what: why" and, where there is one, a line "hint: what to do". A
// question is answered on standard input; no answer means no.
//
// # Exit status
//
//	0  done
//	1  general error, also a question answered with no
//	2  usage error, also a bad config.toml
//	3  store not found, or none selected
//	4  checkpoint not found
//	5  mount or unmount failed, or a mount is in the way
//	6  this machine lacks what the command needs
//
// # Interruption and crashes
//
// One command at a time changes a store; others wait for it. A command that
// fails or is interrupted leaves the store as it was, or says what it has done. What
// a killed one leaves behind is repaired by the next command that needs the store,
// which says so.
//
// # Files
//
// ~/.agentfs, or AGENTFS_HOME, holds the stores, the database and config.toml;
// docs/agentfs.md tells what can be set there.
package main

import (
	"syscall"

	"agentfs.internal/tool/command"
)

func main() {
	syscall.Umask(0o077) // whatever is made here is the caller's alone
	command.Main(tree())
}
