package main

import (
	"context"
	"fmt"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func (a *app) deleteVerb() *command.Verb {
	return &command.Verb{
		Name: "delete", Args: "NAME", Min: 1, Max: 1,
		Short: "delete a store and all its checkpoints",
		Long:  `Asks first; -f does not. A mount that processes still use is refused (status 5).`,
		Run:   a.delete,
	}
}

type deleted struct {
	Store       string `json:"store"`
	Deleted     bool   `json:"deleted"`
	Checkpoints int64  `json:"checkpoints"` // that went with it
}

func (a *app) delete(ctx context.Context, _ command.IO, args []string) error {
	name, err := a.chosen(ctx, args)
	if err != nil {
		return err
	}
	_, st, err := a.get(ctx, name)
	if err != nil {
		return err
	}
	if err := a.confirm(ctx, "Delete store %s and %s?", quoted(name), all(st)); err != nil {
		return err
	}
	if err := a.hold(ctx, name); err != nil {
		return err
	}
	// What is half made or half deleted is not repaired first: it goes as it is.
	if _, st, err = a.get(ctx, name); err != nil {
		return err
	}
	if err := a.teardown(ctx, st); err != nil {
		return a.halfDeleted(context.WithoutCancel(ctx), st, err)
	}
	return a.result(deleted{name, true, st.Checkpoints}, "Deleted "+quoted(name))
}

// halfDeleted says how far a delete has come that failed.
func (a *app) halfDeleted(ctx context.Context, st record.Store, cause error) error {
	_, now, err := a.get(ctx, st.Name)
	if err != nil {
		return cause
	}
	cause = a.report(cause)
	if now.Status == record.StoreDeleting {
		a.warn("store %s is half deleted: agentfs delete %s goes on", quoted(st.Name), st.Name)
	} else if yes, err := a.isMounted(ctx, st); err == nil && !yes {
		a.warn("store %s is not mounted, and nothing of it is deleted", quoted(st.Name))
	}
	return cause
}

// all says what goes with a store.
func all(st record.Store) string {
	if st.Checkpoints == 1 {
		return "its 1 checkpoint"
	}
	return fmt.Sprintf("all %d checkpoints", st.Checkpoints)
}
