//go:build linux

package linux

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"agentfs.internal/bundlectl/serve"
	"agentfs.internal/tool/record"
)

// List gives what is attached: whoever answers on a control socket. A socket
// that nobody listens on is a dead server's; the next attach replaces it.
func (Engine) List(context.Context) ([]record.Image, error) {
	list := []record.Image{}
	sockets, err := filepath.Glob(socketPath("*"))
	if err != nil {
		return nil, err
	}
	for _, socket := range sockets {
		name := filepath.Base(socket)
		reply, err := ask(name[:len(name)-len(".sock")], serve.Request{Op: "info"})
		if err != nil {
			continue
		}
		img, err := look(reply.BundlePath)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted under a living server
		}
		if err != nil {
			return nil, err
		}
		list = append(list, *img)
	}
	return list, nil
}
