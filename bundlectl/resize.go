package main

import (
	"context"
	"flag"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func resizeVerb() *command.Verb {
	var text string
	return imageVerb(command.Verb{
		Name:  "resize",
		Short: "make an image and its filesystem larger",
		Long: `Works on a detached bundle, on Linux also on an attached one. It cannot make it smaller.

In: "store" (bundle_path). Out: "image".`,
		Flags: func(fs *flag.FlagSet) { fs.StringVar(&text, "size", "", "new `size`, as in 100G") },
	}, func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error) {
		var n int64
		if err := parseSize(text, &n); err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, status.Errorf(status.Usage, "resize: no size").WithHint("--size 100G")
		}
		return e.Resize(ctx, in.bundle, n)
	})
}
