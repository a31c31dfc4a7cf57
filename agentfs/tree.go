package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
)

// tree is the command tree.
func tree() *command.Verb {
	a := &app{}
	root := &command.Verb{
		Name:  "agentfs",
		Short: "save and bring back a working directory in milliseconds",
		Long:  manual,
		Env:   "AGENTFS",
		Flags: a.globals,
		Verbs: []*command.Verb{
			a.initVerb(), a.openVerb(), a.closeVerb(), a.deleteVerb(),
			a.listVerb(), a.useVerb(), a.statusVerb(),
			a.checkpointVerb(
				a.createVerb(), a.historyVerb(), a.infoVerb(), a.forgetVerb(),
				a.pinVerb(), a.unpinVerb(), a.pruneVerb(), a.indexVerb(), a.syncVerb(),
			),
			a.restoreVerb(), a.diffVerb(), a.showVerb(), a.forkVerb(), a.verifyVerb(), a.doctorVerb(),
			a.exportVerb(), a.importVerb(), a.backupVerb(),
			a.timelineVerb(), a.logVerb(), a.searchVerb(), a.blameVerb(), a.configVerb(), a.hooksVerb(),
		},
	}
	a.adopt(root)
	return root
}

const manual = `
A store is a directory of yours that is mounted from a bundle. Its checkpoints
are v1, v2, v3 … The store is the one named as an argument; else by --store or
AGENTFS_STORE; else by the file .agentfs in this directory or one above it
('agentfs use NAME' writes it); else the one in whose mount you stand.

Exit status: 0 done, 1 general error or a question answered with no, 2 usage,
3 store not found, 4 checkpoint not found, 5 mount or unmount failed, 6 this
machine lacks what the command needs.

Environment: AGENTFS_HOME, AGENTFS_STORE as --home and --store;
AGENTFS_TRACE=1 as --trace.

Example:

  agentfs init myapp && cd myapp
  agentfs checkpoint create "before risky refactor"
  agentfs restore v1`

// globals registers the flags that every verb takes.
func (a *app) globals(fs *flag.FlagSet) {
	fs.StringVar(&a.store, "store", "", "the `NAME` of the store to work on")
	fs.BoolVar(&a.json, "json", false, "write one JSON document")
	fs.BoolVar(&a.force, "force", false, "ask nothing")
	command.Alias(fs, "f", "force")
	fs.StringVar(&a.home, "home", "", "the `DIR` of stores and database (default ~/.agentfs)")
	fs.BoolVar(&a.tracing, "trace", false, "show each stage's command line and time")
}

// adopt makes every verb below v set up the app before it runs, and report what
// failed in a stage in that stage's own words.
func (a *app) adopt(v *command.Verb) {
	if run := v.Run; run != nil {
		v.Run = func(ctx context.Context, stdio command.IO, args []string) error {
			if err := a.begin(stdio); err != nil {
				return err
			}
			return a.report(run(ctx, stdio, args))
		}
	}
	for _, sub := range v.Verbs {
		a.adopt(sub)
	}
}
