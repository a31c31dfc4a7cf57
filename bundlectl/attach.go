package main

import (
	"context"
	"flag"
	"path/filepath"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func attachVerb() *command.Verb {
	var mount string
	return imageVerb(command.Verb{
		Name:  "attach",
		Short: "mount a bundle's filesystem",
		Long: `Returns when the mount can be used. What a killed server or a crash has left is
cleared away first, and the filesystem's journal replayed.

In: "store" (bundle_path, mount_path). Out: "image".`,
		Flags: func(fs *flag.FlagSet) { mountFlag(fs, &mount) },
	}, func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error) {
		if mount == "" {
			mount = in.store.MountPath
		}
		if mount == "" {
			return nil, status.Errorf(status.Usage, "attach: no mountpoint").WithHint("--mount DIR")
		}
		abs, err := filepath.Abs(mount)
		if err != nil {
			return nil, err
		}
		return e.Attach(ctx, in.bundle, abs)
	})
}
