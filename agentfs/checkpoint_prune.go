package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

func (a *app) pruneVerb() *command.Verb {
	p := &pruning{app: a, keep: -1}
	return &command.Verb{
		Name:  "prune",
		Short: "delete the oldest checkpoints",
		Long: `
With --keep N the newest N checkpoints stay, and those that are pinned. Without it
the newest of those that are neither pinned nor named stay, as many as keep_count
of config.toml says (100), and all that are pinned or named: so it is done in the
background, too, when a checkpoint makes them a tenth more, unless auto_prune is
false. A checkpoint is named if it has a message other than "auto" and "pre-restore", and no agent has made
it. What was changed in those that go, by whom and why, stays known.

Shows what goes and what that gives back, and asks; -f does not ask.`,
		Flags: func(fs *flag.FlagSet) {
			fs.Func("keep", "keep the newest `N` checkpoints, and those that are pinned", p.setKeep)
			fs.BoolVar(&p.dry, "dry-run", false, "only show what would be deleted")
			fs.BoolVar(&p.auto, "auto", false, "as in the background: ask nothing, say nothing")
		},
		Run: p.prune,
	}
}

var (
	pruneLocked  = fault.Define("agentfs.checkpoint-prune.locked")
	pruneDeleted = fault.Define("agentfs.checkpoint-prune.deleted")
	pruneDone    = fault.Define("agentfs.checkpoint-prune.done")
)

// pruning is a prune while it runs.
type pruning struct {
	*app
	keep      int // -1: as config.toml says, and named ones stay
	dry, auto bool
	name      string // the store's
}

// pruned is what prune --json shows.
type pruned struct {
	Store      string      `json:"store"`
	DryRun     bool        `json:"dry_run"`
	Pruned     []prunedOne `json:"pruned"`      // oldest first; with dry_run what would be
	FreedBytes int64       `json:"freed_bytes"` // by all of them together: more than the sum where they share bands
}

type prunedOne struct {
	description
	FreedBytes int64 `json:"freed_bytes"` // by this one alone
}

func (p *pruning) setKeep(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	p.keep = int(n)
	return err
}

func (p *pruning) prune(ctx context.Context, _ command.IO, _ []string) (err error) {
	if p.auto && (p.keep >= 0 || p.dry) {
		return status.Errorf(status.Usage, "checkpoint prune: --auto stands alone").WithHint("agentfs checkpoint prune -h")
	}
	if p.name, err = p.selected(ctx); err != nil {
		return err
	}
	cfg, err := p.readConfig()
	if err != nil {
		return err
	}
	if p.auto {
		return p.inBackground(ctx, cfg)
	}
	old, _, err := p.old(ctx, cfg)
	if err != nil {
		return err
	}
	doc, err := p.weigh(ctx, old)
	if err != nil {
		return err
	}
	if p.dry || len(old) == 0 {
		return p.result(doc, p.lines(doc)...)
	}
	for _, line := range p.lines(doc) {
		p.stage("%s", line)
	}
	if err := p.confirm(ctx, "Delete %s?", counted(len(old))); err != nil {
		return err
	}
	return p.deleteAll(ctx, cfg, doc)
}

// inBackground prunes for a command that has made a checkpoint. The lock is that
// command's, inherited, so that nobody comes between.
func (p *pruning) inBackground(ctx context.Context, cfg config) error {
	if !p.inherit(p.name) {
		if err := p.hold(ctx, p.name); err != nil {
			return err
		}
	}
	if err := pruneLocked.Reach(); err != nil {
		return err
	}
	old, all, err := p.old(ctx, cfg)
	if err != nil {
		return err
	}
	if cfg.autoIndex && len(old) < int(cfg.keepCount) {
		old = known(old, all)
	}
	for _, cp := range old {
		err := p.delete(ctx, cp.Version)
		if err == nil {
			err = pruneDeleted.Reach()
		}
		if err != nil {
			return err
		}
	}
	err = pruneDone.Reach()
	p.spareFor(all, old)
	return err
}

// deleteAll deletes what was shown, but for what has been deleted or pinned since.
func (p *pruning) deleteAll(ctx context.Context, cfg config, doc pruned) error {
	if _, _, err := p.take(ctx, p.name); err != nil {
		return err
	}
	if err := pruneLocked.Reach(); err != nil {
		return err
	}
	old, all, err := p.old(ctx, cfg)
	if err != nil {
		return err
	}
	still := map[string]int64{}
	for _, cp := range old {
		still[version(cp.Version)] = cp.Version
	}
	shown := doc.Pruned
	doc.Pruned = []prunedOne{}
	for _, one := range shown {
		n, yes := still[one.Version]
		if !yes {
			continue
		}
		err := p.delete(ctx, n)
		if err == nil {
			doc.Pruned = append(doc.Pruned, one)
			err = pruneDeleted.Reach()
		}
		if err != nil {
			err = p.report(err)
			p.warn("%s of %d deleted before that", counted(len(doc.Pruned)), len(shown))
			return err
		}
	}
	err = p.done(pruneDone, doc, "Deleted "+counted(len(doc.Pruned)))
	p.spareFor(all, old)
	return err
}

// spareFor makes the spare again, which went with the first checkpoint that was
// deleted, from the newest one that is left.
func (p *pruning) spareFor(all, old []record.Checkpoint) {
	if len(all) > 0 && (len(old) == 0 || old[len(old)-1].Version != all[0].Version) {
		p.makeSpare(all[0])
	}
}

// delete deletes one checkpoint, unless the command has been interrupted: then
// those before it are gone and the others whole.
func (p *pruning) delete(ctx context.Context, n int64) error {
	if ctx.Err() != nil {
		return pipeline.ErrInterrupted
	}
	return p.remove(ctx, p.name, version(n), "--prune")
}

// old gives the checkpoints that are to go, the oldest first, and all, the newest
// first.
func (p *pruning) old(ctx context.Context, cfg config) (old, all []record.Checkpoint, err error) {
	all, err = p.history(ctx, p.name, 0)
	keep := p.keep
	if keep < 0 {
		keep = int(cfg.keepCount)
	}
	for _, cp := range all {
		switch {
		case p.keep < 0 && (cp.Pinned || named(cp)): // does not count
		case keep > 0:
			keep--
		case !cp.Pinned:
			old = append(old, cp)
		}
	}
	slices.Reverse(old)
	return old, all, err
}

// known drops those from old from which a comparison is still to be made: once they
// are gone, nobody could tell any more what was changed. They go next time.
func known(old, all []record.Checkpoint) []record.Checkpoint {
	needed := map[int64]bool{}
	for _, cp := range all {
		if cp.Index == record.IndexNone {
			needed[cp.ID], needed[cp.ParentID] = true, true
		}
	}
	return slices.DeleteFunc(old, func(cp record.Checkpoint) bool { return needed[cp.ID] })
}

// named tells whether a person has given the checkpoint a name; the messages of those
// that programs make are none.
func named(cp record.Checkpoint) bool {
	return cp.Agent == "" && cp.Message != "" && cp.Message != autoMessage && cp.Message != preRestore
}

// weigh finds out what deleting these gives back.
func (p *pruning) weigh(ctx context.Context, old []record.Checkpoint) (doc pruned, err error) {
	doc = pruned{Store: p.name, DryRun: p.dry, Pruned: []prunedOne{}}
	if len(old) == 0 {
		return doc, nil
	}
	du := []string{"bandclone", "du"}
	for _, cp := range old {
		du = append(du, "--freed", version(cp.Version))
	}
	rec, _, err := p.get(ctx, p.name)
	if err != nil {
		return doc, err
	}
	recs, err := p.run.List(ctx, rec, pipeline.Tool(du...))
	uses, err := collect[use](recs, "usage", err)
	bytes := map[string]int64{}
	for _, u := range uses {
		bytes[u.Name] = u.ExclusiveBytes
	}
	for _, cp := range old {
		doc.Pruned = append(doc.Pruned, prunedOne{described(p.name, cp), bytes[version(cp.Version)]})
	}
	doc.FreedBytes = bytes["freed"]
	return doc, err
}

// use is what bandclone du tells of a checkpoint.
type use struct {
	Name           string `json:"name"`
	ExclusiveBytes int64  `json:"exclusive_bytes"`
}

// lines shows what goes, for people.
func (p *pruning) lines(doc pruned) []string {
	if len(doc.Pruned) == 0 {
		return []string{"Nothing to prune"}
	}
	rows := [][]string{{"VERSION", "MESSAGE", "CREATED", "FREES"}}
	for _, one := range doc.Pruned {
		rows = append(rows, []string{one.Version, cut(visible(one.Message)), ago(one.CreatedAt), size.Format(one.FreedBytes)})
	}
	return append(table(rows), fmt.Sprintf("%s, %s together", counted(len(doc.Pruned)), size.Format(doc.FreedBytes)))
}

func counted(n int) string {
	if n == 1 {
		return "1 checkpoint"
	}
	return fmt.Sprintf("%d checkpoints", n)
}
