package main

import (
	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
)

// preRestore is the message of the checkpoint that a restore makes first.
const preRestore = "pre-restore"

// pruneAfter starts to prune in the background if the store may have more
// checkpoints than config.toml wants. Its record counts those that are named or
// pinned, too: whoever prunes looks closer. Nobody waits for it.
func (a *app) pruneAfter(cfg config, st record.Store) bool {
	most := cfg.keepCount + cfg.keepCount/10            // not after each one: it takes as long as a checkpoint
	if !cfg.autoPrune || st.Checkpoints < int64(most) { // the new one is not in it yet
		return false
	}
	a.run.Detach(pipeline.Tool("agentfs", "checkpoint", "prune", "--auto", "--store", st.Name))
	return true
}

// inherit takes over the lock of a store from the command that has started this
// one, if it has lent it.
func (a *app) inherit(name string) bool {
	a.run.Lock = a.inherited(a.lockDir(name))
	return a.run.Lock != nil
}
