package hdiutil

import (
	"context"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/status"
)

// Files cannot be told: APFS does not say where in the image a file lies.
func (Engine) Files(context.Context, string, string, []int64) ([]engine.Within, error) {
	return nil, status.Errorf(status.CannotRun, "files: macOS does not tell where in an image files lie")
}
