// Command cpdb keeps the metadata of agentfs: which stores there are, which
// checkpoints each has, and what state they are in. It is the only program that
// opens the database, $AGENTFS_HOME/agentfs.db (SQLite).
//
// Usage:
//
//	cpdb store add NAME [--bundle PATH] [--mount PATH] [--size BYTES] [--forked-from TEXT] [--next-version N] [--status S]
//	cpdb store get NAME | --mount PATH
//	cpdb store list [--all]
//	cpdb store set [NAME] [--mount PATH] [--status S] [--mounted=true|false] [--size BYTES] [--base vN]
//	cpdb store rm [NAME]
//	cpdb checkpoint begin --store NAME [--message TEXT] [--agent A] [--action A] [--session S] [--prompt TEXT] [--before] [--meta K=V …]
//	cpdb checkpoint commit [--store NAME --version vN [--method M] [--bands N] [--bytes N] [--changed-bands N]]
//	cpdb checkpoint add --store NAME
//	cpdb checkpoint abort [--store NAME --version vN]
//	cpdb checkpoint get --store NAME vN [--all]
//	cpdb checkpoint list --store NAME [--limit N] [--all] [--volatile]
//	cpdb checkpoint set [--store NAME vN] [--pinned=true|false] [--durable]
//	cpdb checkpoint rm --store NAME vN [--prune]
//	cpdb change todo --store NAME
//	cpdb change add --store NAME vN [--parent-id ID] [--lost]
//	cpdb change list --store NAME vN
//	cpdb log --store NAME [--agent A] [--action A] [--session S] [--since TIME] [--until TIME] [--limit N] [--paths N] [-- PATH…]
//	cpdb search --store NAME [--limit N] TEXT
//	cpdb trace --store NAME [--at vN] -- PATH
//	cpdb check [--store NAME]
//	cpdb rebuild [--force]
//
// A verb that is not told what to work on by its flags and arguments reads one
// record on standard input; every verb writes records on standard output.
//
// A checkpoint is made in three steps, each a program:
//
//	cpdb checkpoint begin --store myapp --message "before refactor" |
//	  bundlectl quiesce -- bandclone create |
//	  cpdb checkpoint commit
//
// begin allots the next version, which is never used again, and writes a pending
// checkpoint; commit makes it ready. What commit and the store verbs have
// acknowledged is durable; that the bands are, too, is made so and noted by
//
//	cpdb checkpoint list --store myapp --volatile | bandclone sync | cpdb checkpoint set --durable
//
// A pending checkpoint that nobody commits is a
// leftover: the next begin names it, and abort removes its row.
//
// Exit status: 0 done; 1 error; 2 usage; 3 store not found; 4 checkpoint not
// found. check exits with 1 if it finds problems.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func main() { command.Main(tree()) }

// app is what all verbs share.
type app struct{ home string }

func tree() *command.Verb {
	a := &app{}
	return &command.Verb{
		Name:  "cpdb",
		Short: "Keep the metadata of agentfs: stores and checkpoints.",
		Long:  manual,
		Env:   "AGENTFS",
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&a.home, "home", "", "`directory` of agentfs.db, also AGENTFS_HOME (default ~/.agentfs)")
		},
		Verbs: []*command.Verb{
			{Name: "store", Short: "work on stores", Verbs: []*command.Verb{
				storeAdd(a), storeGet(a), storeList(a), storeSet(a), storeRm(a),
			}},
			{Name: "checkpoint", Short: "work on checkpoints", Verbs: []*command.Verb{
				checkpointBegin(a), checkpointCommit(a), checkpointAdd(a), checkpointAbort(a),
				checkpointGet(a), checkpointList(a), checkpointSet(a), checkpointRm(a),
			}},
			{Name: "change", Short: "work on what checkpoints changed", Verbs: []*command.Verb{
				changeTodo(a), changeAdd(a), changeList(a),
			}},
			history(a), search(a), trace(a),
			check(a), rebuild(a),
		},
	}
}

const manual = `Every verb writes records, one JSON object a line, on standard output. A verb
that is not told what to work on reads one record on standard input.

A checkpoint is made by

  cpdb checkpoint begin --store myapp --message "before refactor" |
    bundlectl quiesce -- bandclone create |
    cpdb checkpoint commit

Exit status: 0 done, 1 error, 2 usage, 3 store not found, 4 checkpoint not found.`

// open opens the database for verbs that need something to be in it.
func (a *app) open(ctx context.Context) (*db.DB, error) {
	home, err := a.dir()
	if err != nil {
		return nil, err
	}
	return db.Open(ctx, home)
}

// openWithRecord opens the database and reads the record, unless the verb is told
// what it needs. It opens first: the stages of a pipeline start at once, and what
// can be done while others are at work costs no time. Where there was no database,
// one of them may have made it until its record came.
func (a *app) openWithRecord(ctx context.Context, stdio command.IO, told bool) (*db.DB, *record.Record, error) {
	d, err := a.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	rec, err := record.Input(ctx, stdio.In, told)
	if err == nil && d.InMemory() {
		if err = d.Close(); err == nil {
			d, err = a.open(ctx)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return d, rec, nil
}

// dir is the absolute path of the home directory.
func (a *app) dir() (string, error) {
	if a.home != "" {
		return filepath.Abs(a.home)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no home directory, set AGENTFS_HOME: %w", err)
	}
	return filepath.Join(home, ".agentfs"), nil
}
