package main

import (
	"context"
	"errors"
	"flag"
	"strings"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

type beginVerb struct {
	*app
	store   *string
	message string
	why     record.Causality
}

func checkpointBegin(a *app) *command.Verb {
	v := &beginVerb{app: a}
	return &command.Verb{
		Name:  "begin",
		Short: "allot the next version to a pending checkpoint",
		Long: `The store must be ready. The version is never allotted again, whatever becomes
of the checkpoint. Its parent is the store's base. Without --prompt it is the last
one of the session. Leftovers are older checkpoints that are pending or deleting:
whoever holds the store's lock may remove their files and abort them.

in:  nothing
out: store, checkpoint (pending), leftovers`,
		Flags: v.flags,
		Run:   v.run,
	}
}

func (v *beginVerb) flags(fs *flag.FlagSet) {
	optional(fs, &v.store, "store", "`name` of the store")
	fs.StringVar(&v.message, "message", "", "`text` that says what is saved")
	fs.StringVar(&v.why.Agent, "agent", "", "`who` makes the changes, as in claude-code; none for a person")
	fs.StringVar(&v.why.Action, "action", "", "the `tool` or event that it is made for, as in Edit")
	fs.StringVar(&v.why.Session, "session", "", "the agent's `name` for its session")
	fs.StringVar(&v.why.Prompt, "prompt", "", "`text` of what the person asked for")
	fs.BoolVar(&v.why.Before, "before", false, "made before the action, not after it")
	fs.Func("meta", "`key=value` to keep with it; may be given again", v.addMeta)
}

func (v *beginVerb) addMeta(pair string) error {
	key, value, ok := strings.Cut(pair, "=")
	if !ok || key == "" {
		return errors.New("want KEY=VALUE")
	}
	if v.why.Meta == nil {
		v.why.Meta = map[string]string{}
	}
	v.why.Meta[key] = value
	return nil
}

func (v *beginVerb) run(ctx context.Context, stdio command.IO, _ []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	b, err := d.Begin(ctx, store, v.message, v.why)
	if err != nil {
		return err
	}
	return write(stdio.Out, record.New(), "store", b.Store, "checkpoint", b.Checkpoint, "leftovers", b.Leftovers)
}
