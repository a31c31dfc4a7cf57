package main

import (
	"context"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func listVerb() *command.Verb {
	return &command.Verb{
		Name:  "list",
		Short: "list what is attached",
		Long:  `Out: one "image" a line.`,
		Run: func(ctx context.Context, stdio command.IO, _ []string) error {
			list, err := selectEngine().List(ctx)
			if err != nil {
				return err
			}
			for _, img := range list {
				rec := record.New()
				if err := rec.Set("image", img); err != nil {
					return err
				}
				if err := rec.Write(stdio.Out); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
