package main

import (
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/bundlectl/hdiutil"
)

// selectEngine gives this system's engine.
func selectEngine() engine.Engine { return hdiutil.Engine{} }
