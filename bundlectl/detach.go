package main

import (
	"context"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func detachVerb() *command.Verb {
	v := imageVerb(command.Verb{
		Name:  "detach",
		Short: "unmount a bundle's filesystem",
		Long: `Returns when every byte is in the bands and nobody holds them. A busy mount is
refused, and the processes that hold it are named.

In: "store" (bundle_path). Out: "image".`,
	}, func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error) {
		path, err := attachedAt(ctx, e, in.bundle)
		if err != nil {
			return nil, err
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
