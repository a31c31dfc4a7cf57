package main

import (
	"context"
	"io"

	"agentfs.internal/tool/command"
)

// keepVerb waits for the end of its standard input, with the descriptors that it
// was given.
func keepVerb() *command.Verb {
	return &command.Verb{
		Name:   "keep",
		Hidden: true,
		Short:  "keep trees until nobody uses them (started by attach --checkpoint and detach --handover)",
		Run: func(_ context.Context, stdio command.IO, _ []string) error {
			_, err := io.Copy(io.Discard, stdio.In)
			return err
		},
	}
}
