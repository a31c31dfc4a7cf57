package main

import (
	"fmt"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/tool/record"
)

// createLike makes a bundle without bands for an image of the size of another
// one's. No engine is needed: there is no filesystem in it.
func createLike(path, like string) (*record.Image, error) {
	other, err := bundle.Open(like)
	if err != nil {
		return nil, err
	}
	if err := bundle.Publish(path, other.Info); err != nil {
		return nil, fmt.Errorf("create %q: %w", path, err)
	}
	return &record.Image{BundlePath: path, SizeBytes: other.Info.Size, BandSize: other.Info.BandSize}, nil
}
