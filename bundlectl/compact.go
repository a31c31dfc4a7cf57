package main

import (
	"context"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func compactVerb() *command.Verb {
	return imageVerb(command.Verb{
		Name:  "compact",
		Short: "give space that the filesystem does not use back to the host",
		Long: `Works on a detached bundle, on Linux also on an attached one. Space that a checkpoint holds
comes back when the checkpoint is deleted.

In: "store" (bundle_path). Out: "image".`,
	}, func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error) {
		return e.Compact(ctx, in.bundle)
	})
}
