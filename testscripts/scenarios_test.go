//go:build linux

package testscripts

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/tool/scenario"
)

var tools = []string{"agentfs", "agentfs-hook", "bandclone", "bundlectl", "cpdb", "treediff"}

// sources has the directory of a tool that has not its name.
var sources = map[string]string{"agentfs-hook": "hooks"}

func TestMain(m *testing.M) {
	testscript.Main(withTools{m}, map[string]func(){
		"mktree":    mktreeMain,
		"treehash":  treehashMain,
		"writer":    writerMain,
		"bandread":  bandreadMain,
		"exchanger": exchangerMain,
	})
}

// withTools puts the tools' binaries on the PATH before the tests run: those in
// AGENTFS_BIN, else new ones.
type withTools struct{ *testing.M }

func (m withTools) Run() int {
	dir := os.Getenv("AGENTFS_BIN")
	if dir == "" {
		var err error
		if dir, err = buildTools(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
	}
	if err := os.Setenv("PATH", dir+":"+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.M.Run()
}

func buildTools() (string, error) {
	dir, err := os.MkdirTemp("", "agentfs-bin-*")
	if err != nil {
		return "", err
	}
	for _, tool := range tools {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, tool), "./"+cmp.Or(sources[tool], tool))
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("%s: %w\n%s", tool, err, out)
		}
	}
	return dir, nil
}

func TestScenarios(t *testing.T) {
	p := scenario.Params("testdata")
	p.Condition = condition
	p.Setup = setup(p.Setup)
	p.Cmds["shows"] = shows
	p.Cmds["usage"] = usage
	p.Cmds["killed-at-each-step"] = killedAtEachStep
	t.Cleanup(func() { checkAllStepsReached(t) })
	testscript.RunT(quiet{t}, p)
}

// quiet is a test whose scenarios show no more than the phase that failed, with
// -v too; all of it with VERBOSE in the environment.
type quiet struct{ *testing.T }

func (t quiet) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(quiet{t}) })
}

func (t quiet) Verbose() bool { return os.Getenv("VERBOSE") != "" }

// setup makes the environment of a scenario, and sees to it that nothing is left
// at its end.
func setup(first func(*testscript.Env) error) func(*testscript.Env) error {
	return func(env *testscript.Env) error {
		if err := first(env); err != nil {
			return err
		}
		begin()
		shared, err := filepath.Abs("testdata/sh")
		if err != nil {
			return err
		}
		env.Setenv("SH", shared)
		env.Setenv("LC_ALL", "C.UTF-8")
		env.Setenv("AGENTFS_HEAVY", os.Getenv("AGENTFS_HEAVY")) // not empty: scenarios take their full scale
		env.Setenv("AGENTFS_CHECKPOINTS_AUTO_INDEX", "false")   // but where that is tested
		env.Setenv("AGENTFS_CHECKPOINTS_AUTO_SUM", "false")     // the same
		env.Defer(func() {
			if left := takeDown(env.WorkDir); len(left) > 0 {
				env.T().Fatal("left behind: ", left)
			}
		})
		return nil
	}
}
