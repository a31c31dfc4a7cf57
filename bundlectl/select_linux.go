package main

import (
	"os"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/bundlectl/hdiutil"
	"agentfs.internal/bundlectl/linux"
)

// selectEngine gives this system's engine. BUNDLECTL_ENGINE=hdiutil chooses the
// driver for macOS, which tests hold to a stand-in hdiutil here.
func selectEngine() engine.Engine {
	if os.Getenv("BUNDLECTL_ENGINE") == "hdiutil" {
		return hdiutil.Engine{}
	}
	return linux.Engine{}
}
