package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func changedVerb() *command.Verb {
	var since string
	return imageVerb(command.Verb{
		Name:  "changed",
		Short: "tell whether an attached image differs from a checkpoint",
		Long: `Whatever was written to the mount before the call counts, and nothing else: on Linux
not that it was mounted anew, read or trimmed meanwhile.

In: "store" (bundle_path). Out: "image", "changed" (true or false).`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&since, "since", "", "the checkpoint: its `dir`ectory of bands")
		},
	}, func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error) {
		if since == "" {
			return nil, status.Errorf(status.Usage, "changed: no checkpoint").WithHint("--since DIR")
		}
		dir, err := filepath.Abs(since)
		if err != nil {
			return nil, err
		}
		// Every filesystem begins with something.
		if _, err := os.Stat(filepath.Join(dir, bundle.BandName(0))); err != nil {
			return nil, status.Errorf(status.General, "changed: not a checkpoint: %w", err).
				WithHint("--since takes the directory of a checkpoint's bands")
		}
		img, changed, err := e.Changed(ctx, in.bundle, dir)
		if err != nil {
			return nil, err
		}
		return img, in.rec.Set("changed", changed)
	})
}
