package hdiutil

import (
	"context"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/status"
)

// Problems looks at the machine and the bundles' own files; hdiutil leaves nothing
// behind.
func (e Engine) Problems(ctx context.Context, bundles []string, repair bool) []engine.Problem {
	var list []engine.Problem
	if err := e.Check(ctx); err != nil {
		list = append(list, engine.MachineProblem(err, status.HintOf(err)))
	}
	for _, path := range bundles {
		list = append(list, engine.BundleProblems(path, repair)...)
	}
	return list
}
