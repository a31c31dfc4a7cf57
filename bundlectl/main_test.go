package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/bundlectl/hdiutil/standin"
	"agentfs.internal/tool/scenario"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bundlectl": main, "hdiutil": standin.Main})
}

// TestScenarios holds the driver for macOS to a stand-in hdiutil. Those of the
// Linux engine, which mount, are in the module testscripts.
func TestScenarios(t *testing.T) { testscript.Run(t, scenario.Params("testdata")) }
