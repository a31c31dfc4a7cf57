package main

import (
	"context"
	"flag"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func detachVerb() *command.Verb {
	var handover, force bool
	v := imageVerb(command.Verb{
		Name:  "detach",
		Short: "unmount a bundle's filesystem",
		Long: `Returns when every byte is in the bands and nobody holds them. A busy mount is
refused, and the processes that hold it are named.

With --handover it does not wait until the kernel has forgotten the filesystem's
files, a tenth of a second for some ten thousand: every byte is in the bands and
nothing of the old mount can write them, so that they may be replaced, and the bundle
attached again at once.

With --force it is for a mount that hangs: it asks nobody, who reads or writes there
gets an error at once, and what was not synced is lost.

In: "store" (bundle_path). Out: "image".`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&force, "force", false, "end a mount that hangs, with errors for whoever uses it")
			fs.BoolVar(&handover, "handover", false, "leave the clearing away to a process that nobody waits for")
		},
	}, func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error) {
		path, err := attachedAt(ctx, e, in.bundle)
		if err != nil {
			return nil, err
		}
		if force {
			return e.DetachForce(ctx, path)
		}
		if handover {
			return e.Handover(ctx, path)
		}
		return e.Detach(ctx, path)
	})
	v.Args = "[BUNDLE|MOUNTPOINT]"
	return v
}

// attachedAt gives the bundle that is mounted at path, or path itself if that
// is a bundle or nothing is mounted there.
func attachedAt(ctx context.Context, e engine.Engine, path string) (string, error) {
	if _, err := bundle.Open(path); err == nil {
		return path, nil
	}
	list, err := e.List(ctx)
	if err != nil {
		return "", err
	}
	for _, img := range list {
		if img.MountPath == path {
			return img.BundlePath, nil
		}
	}
	return path, nil
}
