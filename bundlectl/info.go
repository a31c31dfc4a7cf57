package main

import (
	"context"
	"os"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func infoVerb() *command.Verb {
	return imageVerb(command.Verb{
		Name:  "info",
		Short: "show a bundle's sizes and where it is attached",
		Long:  `In: "store" (bundle_path). Out: "image".`,
	}, func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error) {
		b, err := bundle.Open(in.bundle)
		if err != nil {
			return nil, err
		}
		img := &record.Image{BundlePath: in.bundle, SizeBytes: b.Info.Size, BandSize: b.Info.BandSize}
		if img.Bands, img.Bytes, err = b.Usage(); err != nil {
			return nil, err
		}
		list, err := e.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, att := range list {
			if sameFile(att.BundlePath, in.bundle) {
				att.BundlePath, att.SizeBytes, att.BandSize = img.BundlePath, img.SizeBytes, img.BandSize
				att.Bands, att.Bytes = img.Bands, img.Bytes
				img = &att
			}
		}
		return img, nil
	})
}

// sameFile tells whether two paths lead to one directory.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
