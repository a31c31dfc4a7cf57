package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func attachVerb() *command.Verb {
	var mount string
	var newUUID bool
	return imageVerb(command.Verb{
		Name:  "attach",
		Short: "mount a bundle's filesystem",
		Long: `Returns when the mount can be used. What a killed server or a crash has left is
cleared away first, and the filesystem's journal replayed.

--new-uuid is for an image that began as a copy of another one: some programs tell
filesystems apart by it. Where the kernel cannot do it, that is a warning.

In: "store" (bundle_path, mount_path). Out: "image".`,
		Flags: func(fs *flag.FlagSet) {
			mountFlag(fs, &mount)
			fs.BoolVar(&newUUID, "new-uuid", false, "give the filesystem a UUID of its own (ext4 only)")
		},
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
		img, err := e.Attach(ctx, in.bundle, abs)
		if err == nil && newUUID {
			if err := e.NewUUID(abs); err != nil {
				fmt.Fprintf(in.talk, "bundlectl: attach: %v: the filesystem keeps the UUID of the one it was copied from\n", err)
			}
		}
		return img, err
	})
}
