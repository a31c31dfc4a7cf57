package main

import (
	"context"
	"flag"

	"agentfs.internal/bundlectl/linux"
	"agentfs.internal/tool/command"
)

func serveVerb() *command.Verb {
	var direct, standby bool
	var checkpoint, log string
	return &command.Verb{
		Name:   "serve",
		Args:   "BUNDLE",
		Min:    1,
		Max:    1,
		Hidden: true,
		Short:  "serve a bundle's bands (started by attach)",
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&direct, "direct", false, "bypass the host's page cache")
			fs.BoolVar(&standby, "standby", false, "wait for the server's death, to take its place (started by serve)")
			fs.StringVar(&checkpoint, "checkpoint", "", "serve the bands in this `dir`, to be read")
			fs.StringVar(&log, "record", "", "log in this `file` what is done to the image")
		},
		Run: func(_ context.Context, _ command.IO, args []string) error {
			if standby {
				return linux.Standby()
			}
			return linux.Serve(args[0], direct, checkpoint, log)
		},
	}
}
