package scenario_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/tool/scenario"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"exit7": func() { os.Exit(7) },
		"die":   func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} },
		"talk":  func() { fmt.Println(`{"store":{"name":"a b","size":12345678901234567890},"list":[{"n":1},{"n":2}]}`) },
	})
}

func TestScenarios(t *testing.T) { testscript.Run(t, scenario.Params("testdata")) }
