package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/tool/scenario"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"treediff": main})
}

func TestScenarios(t *testing.T) { testscript.Run(t, scenario.Params("testdata")) }
