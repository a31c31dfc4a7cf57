package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strconv"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/durable"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) initVerb() *command.Verb {
	var o initOptions
	return &command.Verb{
		Name: "init", Args: "NAME|PATH", Min: 1, Max: 1,
		Short: "create and mount a new store",
		Long: `
A NAME is mounted at NAME below default_mount_base of config.toml, or below the
current directory where that is not set. A PATH (with a slash, or '.') is the
mountpoint, and its last element the name. --mount says where in any case.

--from DIR copies a directory in, as it is: modes, times, links, extended
attributes, holes. What is mounted in it is left out, and that is said.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.size, "size", "", "the `SIZE` of the image, as in 50G (default 50G, or default_size of config.toml)")
			fs.StringVar(&o.mount, "mount", "", "the `PATH` of the mountpoint")
			fs.StringVar(&o.from, "from", "", "copy the directory `DIR` in")
		},
		Run: func(ctx context.Context, _ command.IO, args []string) error {
			return a.init(ctx, args[0], o)
		},
	}
}

var (
	initLocked   = fault.Define("agentfs.init.locked")
	initAdded    = fault.Define("agentfs.init.added")
	initCreated  = fault.Define("agentfs.init.created")
	initAttached = fault.Define("agentfs.init.attached")
	initCopied   = fault.Define("agentfs.init.copied")
	initFailed   = fault.Define("agentfs.init.failed")
)

func (a *app) init(ctx context.Context, arg string, o initOptions) (err error) {
	p, err := a.plan(arg, o)
	if err != nil {
		return err
	}
	if err := a.found(ctx, p, a.build); err != nil {
		return err
	}
	st := record.Store{Name: p.name, MountPath: p.mount, SizeBytes: p.size}
	return a.result(mountOf(st, true), "Created store "+quoted(p.name), "Mounted at "+visible(tilde(p.mount)))
}

// found makes a store that there is not yet. Where build fails, nothing is left of it.
func (a *app) found(ctx context.Context, p plan, build func(ctx context.Context, p *plan) error) error {
	if err := a.vacate(ctx, p.name); err != nil {
		return err
	}
	if err := a.prepare(&p); err != nil {
		_ = os.Remove(a.lockDir(p.name)) // empty, or not ours
		return err
	}
	a.stage("Creating store...")
	if err := a.unlessMade(ctx, &p, build(ctx, &p), initFailed); err != nil {
		return err
	}
	a.linkMount(p.name, p.mount)
	return nil
}

// vacate takes the lock of a name and removes what an init or delete that died
// has left under it. A store that there is, is in the way.
func (a *app) vacate(ctx context.Context, name string) error {
	if err := a.claim(ctx, name); err != nil {
		return err
	}
	return a.clean(ctx, name, initLocked)
}

// clean makes sure that there is no store of a name whose lock is held.
func (a *app) clean(ctx context.Context, name string, at fault.Step) (err error) {
	defer func() {
		if err != nil {
			_ = os.Remove(a.lockDir(name)) // empty, or not ours
		}
	}()
	if err := at.Reach(); err != nil {
		return err
	}
	rec, st, err := a.get(ctx, name)
	switch {
	case status.Of(err) == status.NoStore:
		return nil
	case err != nil:
		return err
	case st.Status == record.StoreCreating || st.Status == record.StoreDeleting:
		if err := a.repair(ctx, rec, st); err != nil {
			return err
		}
		return a.claim(ctx, name) // the directory of the lock went too
	}
	return status.Errorf(status.General, "store %s exists already, for %s", quoted(name), visible(tilde(st.MountPath))).
		WithHint("agentfs open %s, or choose another name", name)
}

// prepare checks the mountpoint and makes the directory that the bundle will be
// in.
func (a *app) prepare(p *plan) error {
	if err := a.checkMountpoint(p); err != nil {
		return err
	}
	if err := p.refuseForeign(); err != nil {
		return err
	}
	return durable.MkdirAll(filepath.Dir(p.bundle), 0o700)
}

// build makes the store. The row comes first, alone, for it may make the whole
// database; the other stages are started at once. Until the last one the row
// says that the store is being created.
func (a *app) build(ctx context.Context, p *plan) error {
	rec, err := a.addStore(ctx, p)
	if err != nil {
		return err
	}
	if err := initAdded.Reach(); err != nil {
		return err
	}
	stages := []pipeline.Stage{
		pipeline.Tool("bundlectl", "create").Then(initCreated.Reach),
		pipeline.Tool("bundlectl", "attach").Then(initAttached.Reach),
	}
	if p.from == "" {
		return a.run.Exec(ctx, rec, append(stages, setReady(true))...)
	}
	if err := a.run.Exec(ctx, rec, stages...); err != nil {
		return err
	}
	if err := a.copyIn(ctx, p.from, p.mount); err != nil {
		return err
	}
	if err := initCopied.Reach(); err != nil {
		return err
	}
	return a.run.Exec(ctx, rec, setReady(true))
}

// addStore makes the row of a store that is being created.
func (a *app) addStore(ctx context.Context, p *plan, more ...string) (*record.Record, error) {
	words := []string{"cpdb", "store", "add", p.name, "--bundle", p.bundle, "--mount", p.mount,
		"--size", strconv.FormatInt(p.size, 10)}
	rec, err := a.run.Run(ctx, nil, pipeline.Tool(append(append(words, more...), "--status", record.StoreCreating)...))
	p.added = err == nil
	return rec, err
}

// unlessMade takes a store down that could not be made, and gives the cause. Where the
// row says that it was made to the end all the same, there is none.
func (a *app) unlessMade(ctx context.Context, p *plan, cause error, at fault.Step) error {
	if cause == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	cause = a.report(cause)
	_, st, err := a.get(ctx, p.name)
	if err == nil && p.added && st.Status == record.StoreReady {
		return nil
	}
	if err == nil {
		err = at.Reach()
	}
	if err == nil && st.Status == record.StoreCreating {
		err = a.teardown(ctx, st)
	}
	a.clear(p, err)
	return cause
}

// clear ends the taking down of a store, or says why it could not be taken down.
func (a *app) clear(p *plan, err error) {
	if err != nil && status.Of(err) != status.NoStore {
		a.warn("what was made of store %s could not be removed, the next init tries again: %v", quoted(p.name), err)
		return
	}
	if !p.fresh {
		_ = os.Mkdir(p.mount, 0o700) // it was there before, and is the caller's
	}
	_ = os.Remove(a.lockDir(p.name))
}
