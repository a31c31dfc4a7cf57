package main

import (
	"context"
	"flag"
	"strconv"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

type storeSetVerb struct {
	*app
	change db.Change
}

func storeSet(a *app) *command.Verb {
	v := &storeSetVerb{app: a}
	return &command.Verb{
		Name:  "set",
		Args:  "[NAME]",
		Short: "change what is known of a store",
		Long: `in:  store, unless NAME is given
out: store as it is then`,
		Max:   1,
		Flags: v.flags,
		Run:   v.run,
	}
}

func (v *storeSetVerb) flags(fs *flag.FlagSet) {
	c := &v.change
	optional(fs, &c.MountPath, "mount", "`path` to mount it at")
	optional(fs, &c.Status, "status", "`state`: creating, ready, restoring, applying or deleting")
	optional(fs, &c.Base, "base", "the checkpoint that the present came from, as in `v4`: after a restore")
	fs.BoolFunc("mounted", "mounted just now; =false: not mounted", func(s string) error {
		mounted, err := strconv.ParseBool(s)
		c.Mounted = &mounted
		return err
	})
	fs.Func("size", "`bytes` of the image, as in 50G", func(s string) error {
		c.SizeBytes = new(int64)
		return sizeInto(c.SizeBytes)(s)
	})
}

func (v *storeSetVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	if err := v.complete(); err != nil {
		return err
	}
	d, rec, err := v.openWithRecord(ctx, stdio, len(args) > 0)
	if err != nil {
		return err
	}
	defer d.Close()
	ref, err := storeRef(args, rec)
	if err != nil {
		return err
	}
	s, err := d.Set(ctx, ref, v.change)
	if err != nil {
		return err
	}
	return write(stdio.Out, rec, "store", s)
}

func (v *storeSetVerb) complete() error {
	c := &v.change
	if *c == (db.Change{}) {
		return status.Errorf(status.Usage, "store set: nothing to set").WithHint("cpdb store set -h")
	}
	if c.Status != nil {
		if err := db.ValidStatus(*c.Status); err != nil {
			return err
		}
	}
	if c.MountPath != nil {
		path, err := absolute(*c.MountPath)
		c.MountPath = &path
		return err
	}
	return nil
}
