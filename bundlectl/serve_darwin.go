package main

import (
	"context"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

func serveVerb() *command.Verb {
	return &command.Verb{
		Name:   "serve",
		Max:    -1,
		Hidden: true,
		Short:  "serve a bundle's bands (Linux only: macOS does it itself)",
		Run: func(context.Context, command.IO, []string) error {
			return status.Errorf(status.CannotRun, "serve: macOS serves bundles itself")
		},
	}
}
