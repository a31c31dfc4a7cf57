package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) forkVerb() *command.Verb {
	var mount string
	return &command.Verb{
		Name: "fork", Args: "VERSION NAME|PATH", Min: 2, Max: 2,
		Short: "make a new store of a checkpoint, mounted beside the old one",
		Long: `
The new store begins as the checkpoint was, shares its bands and takes no space for
them. Neither store sees what is written to the other, and either may be deleted.
It has no checkpoints of its own yet.

NAME or PATH and --mount say where it is mounted, as with init. Whoever stands in
the mount of the old store gets the new one beside it.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&mount, "mount", "", "the `PATH` of the mountpoint")
		},
		Run: func(ctx context.Context, _ command.IO, args []string) error {
			return a.fork(ctx, args[0], args[1], mount)
		},
	}
}

var (
	forkHeld     = fault.Define("agentfs.fork.held")
	forkLocked   = fault.Define("agentfs.fork.locked")
	forkAdded    = fault.Define("agentfs.fork.added")
	forkCreated  = fault.Define("agentfs.fork.created")
	forkCloned   = fault.Define("agentfs.fork.cloned")
	forkFinished = fault.Define("agentfs.fork.finished")
	forkAttached = fault.Define("agentfs.fork.attached")
	forkFailed   = fault.Define("agentfs.fork.failed")
)

// forked is what fork --json shows.
type forked struct {
	mounted
	ForkedFrom string `json:"forked_from"`
}

// origin is what is forked.
type origin struct {
	store record.Store
	from  record.Checkpoint
}

// String is how the new store's row and people name it.
func (o origin) String() string { return o.store.Name + " " + version(o.from.Version) }

func (a *app) fork(ctx context.Context, v, arg, mount string) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	// The checkpoint must not be deleted or pruned while it is cloned.
	from, err := a.holdOrigin(ctx, name, v)
	if err != nil {
		return err
	}
	if err := forkHeld.Reach(); err != nil {
		return err
	}
	p, err := a.forkPlan(from, arg, mount)
	if err != nil {
		return err
	}
	if err := a.claimSecond(ctx, p.name); err != nil {
		return err
	}
	if err := a.clean(ctx, p.name, forkLocked); err != nil {
		return err
	}
	if err := a.prepare(&p); err != nil {
		_ = os.Remove(a.lockDir(p.name)) // empty, or not ours
		return err
	}
	if err := a.unlessMade(ctx, &p, a.grow(ctx, from, &p), forkFailed); err != nil {
		return err
	}
	a.linkMount(p.name, p.mount)
	st := record.Store{Name: p.name, MountPath: p.mount, SizeBytes: p.size}
	return a.result(forked{mountOf(st, true), from.String()},
		"Forked "+quoted(name)+" "+version(from.from.Version)+" as "+quoted(p.name),
		"Mounted at "+visible(tilde(p.mount)))
}

// holdOrigin takes the lock of a store and finds a checkpoint of it.
func (a *app) holdOrigin(ctx context.Context, name, v string) (o origin, err error) {
	if err := a.hold(ctx, name); err != nil {
		return o, err
	}
	rec, st, cp, err := a.checkpoint(ctx, name, v)
	if err == nil && (st.Status != record.StoreReady || rec.Has("doubtful")) {
		if st.Status != record.StoreReady {
			err = a.repair(ctx, rec, st)
		} else {
			err = a.believe(ctx, rec, false)
		}
		if err == nil {
			_, st, cp, err = a.checkpoint(ctx, name, v)
		}
	}
	if err == nil && cp.DurableAt == nil { // the new store has no other copy of it
		_, err = a.makeDurable(ctx, name)
	}
	return origin{st, cp}, err
}

// forkPlan works out what fork is asked to make.
func (a *app) forkPlan(from origin, arg, mount string) (p plan, err error) {
	cfg, err := a.readConfig()
	if err != nil {
		return p, err
	}
	base := cfg.mountBase
	if base == "" && a.cwd != "" && within(physical(a.cwd), from.store.MountPath) {
		base = filepath.Dir(from.store.MountPath)
	}
	if err := a.place(&p, arg, mount, base); err != nil {
		return p, err
	}
	p.size, p.full = from.store.SizeBytes, true
	p.bundle = filepath.Join(cfg.basePath, p.name, p.name+".sparsebundle")
	if strings.EqualFold(p.name, from.store.Name) { // one directory where the filesystem ignores case
		return p, status.Errorf(status.Usage, "fork: %s is the store that is to be forked", quoted(p.name)).
			WithHint("choose another name")
	}
	return p, checkName(p.name)
}

// grow makes the new store. Until the last stage its row says that it is being
// created; the record that goes through the stages has the row of the new store
// and the checkpoint of the old one.
func (a *app) grow(ctx context.Context, from origin, p *plan) error {
	rec, err := a.addStore(ctx, p, "--forked-from", from.String())
	if err != nil {
		return err
	}
	if err := forkAdded.Reach(); err != nil {
		return err
	}
	if err := rec.Set("checkpoint", from.from); err != nil {
		return err
	}
	return a.run.Exec(ctx, rec,
		pipeline.Tool("bundlectl", "create", "--like", from.store.BundlePath).Then(forkCreated.Reach),
		pipeline.Tool("bandclone", "restore").Then(forkCloned.Reach),
		pipeline.Tool("bandclone", "restore", finish).Then(forkFinished.Reach),
		pipeline.Tool("bundlectl", "attach", "--new-uuid").Then(forkAttached.Reach),
		setReady(true))
}
