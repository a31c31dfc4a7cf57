package main

import (
	"context"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) openVerb() *command.Verb {
	return &command.Verb{
		Name: "open", Args: "NAME", Min: 1, Max: 1,
		Short: "mount an existing store",
		Long: `
Mounts the store where it was mounted before. After a crash of the machine or of
the band server this replays the journal: what had been synced is there.

A checkpoint that was not durable when the machine stopped is looked at: one that is
whole is made durable, one that is torn is dropped, by name.`,
		Run: a.open,
	}
}

var (
	openLocked   = fault.Define("agentfs.open.locked")
	openAttached = fault.Define("agentfs.open.attached")
)

// mounted is what init, open and close say with --json.
type mounted struct {
	Store     string `json:"store"`
	MountPath string `json:"mount_path"`
	Mounted   bool   `json:"mounted"`
	SizeBytes int64  `json:"size_bytes"`
}

func mountOf(st record.Store, yes bool) mounted {
	return mounted{Store: st.Name, MountPath: st.MountPath, Mounted: yes, SizeBytes: st.SizeBytes}
}

func (a *app) open(ctx context.Context, _ command.IO, args []string) error {
	name, err := a.chosen(ctx, args)
	if err != nil {
		return err
	}
	rec, st, err := a.take(ctx, name)
	if err != nil {
		return err
	}
	if err := openLocked.Reach(); err != nil {
		return err
	}
	if a.remounted {
		return a.opened(ctx, rec, st)
	}
	attached := false
	err = a.run.Exec(ctx, rec,
		pipeline.Tool("bundlectl", "attach").Then(func() error { attached = true; return openAttached.Reach() }),
		pipeline.Tool("cpdb", "store", "set", "--mounted=true"))
	switch {
	case err != nil && attached: // whether the database knows makes no difference
		_ = a.report(err)
	case status.Of(err) == status.Mount:
		return a.alreadyMounted(ctx, st, err)
	case err != nil:
		return err
	}
	return a.opened(ctx, rec, st)
}

// opened says that the store is mounted.
func (a *app) opened(ctx context.Context, rec *record.Record, st record.Store) error {
	a.linkMount(st.Name, st.MountPath)
	if err := a.believe(ctx, rec, true); err != nil {
		return err
	}
	return a.result(mountOf(st, true), "Mounted at "+visible(tilde(st.MountPath)))
}

// alreadyMounted says what is behind err where that is a store that is mounted
// already.
func (a *app) alreadyMounted(ctx context.Context, st record.Store, err error) error {
	images, lost := a.attached(ctx)
	at := images[st.BundlePath].MountPath
	if lost != nil || at == "" {
		return err
	}
	return status.Errorf(status.Mount, "store %s is already mounted at %s", quoted(st.Name), visible(tilde(at))).
		WithHint("agentfs close %s", st.Name)
}
