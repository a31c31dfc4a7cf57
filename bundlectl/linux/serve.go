//go:build linux

package linux

import (
	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/serve"
)

// The descriptors that a server is started with, see startServer.
const (
	fuseFD  = 3
	readyFD = 4
)

// Serve is the band server of a bundle. It returns when the mount has ended.
func Serve(path string, direct bool) error {
	serve.Flusher()
	cfg := serve.Config{Bundle: path, Direct: direct, FuseFD: fuseFD, ReadyFD: readyFD}
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
	return serve.Run(cfg)
}
