//go:build linux

package linux

import (
	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/serve"
)

// Standby waits for the death of the band server that has started it, to serve in its
// place.
func Standby() error { return serve.Standby() }

// The descriptors that a server is started with, see startServer.
const (
	fuseFD  = 3
	readyFD = 4
)

// Serve is the band server of a bundle, or of the bundle with a checkpoint's bands
// instead of its own. Where log is not "", what is done to the image is logged there.
// It returns when the mount has ended.
func Serve(path string, direct bool, checkpoint, log string) error {
	if checkpoint == "" {
		serve.Flusher()
	}
	cfg := serve.Config{Bundle: path, Direct: direct, FuseFD: fuseFD, ReadyFD: readyFD, Checkpoint: checkpoint, Record: log}
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	cfg.Size, cfg.BandSize = b.Info.Size, b.Info.BandSize
	id, err := identity(path)
	if err != nil {
		return err
	}
	cfg.Name, cfg.Socket, cfg.Log = filePrefix+id, socketPath(id), logPath(id)
	if checkpoint != "" {
		cfg.Name = asideName
	}
	return serve.Run(cfg)
}
