// Package scenario is what all scenarios (testdata/*.txtar) of all tools share:
// testscript with the settings of the house and a few commands that it lacks.
//
//	func TestMain(m *testing.M) {
//		testscript.Main(m, map[string]func(){"cpdb": main})
//	}
//
//	func TestScenarios(t *testing.T) {
//		testscript.Run(t, scenario.Params("testdata"))
//	}
//
// The commands:
//
//	exits N CMD [ARG…]
//		Runs CMD as exec does and wants exactly this exit status; N is
//		"killed" for a process that a signal ended.
//	json [-line=N] FILE PATH [WANT]
//		Wants the value at PATH in the JSON of FILE to be WANT, or, without
//		WANT, to be there. FILE is stdout, stderr or a file; PATH is dotted,
//		array elements are numbers, "len" is the length of an array:
//		store.name, leftovers.0.version, leftovers.len. A string is written
//		without quotes, everything else as JSON. In a list of records -line
//		chooses one: 1 is the first, -1 the last. "! json" wants the opposite.
//	jsonenv VAR [-line=N] FILE PATH
//		Puts the value at PATH into the environment.
//	lines FILE N
//		Wants exactly N lines.
//
// The condition [root] holds for user 0. HOME is an empty directory of its own,
// $WORK/home; nothing of the caller's AGENTFS_… environment is seen.
package scenario

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Params gives the settings for the scenarios in dir. With UPDATE_SCENARIOS=1 in
// the environment a failing cmp rewrites the scenario.
func Params(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCENARIOS") != "",
		Setup:               setup,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"json":    checkJSON,
			"jsonenv": jsonEnv,
			"lines":   lines,
		},
	}
}

func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	// A binary built with the race detector sleeps a second before it ends, else.
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	return os.MkdirAll(home, 0o700)
}

func condition(name string) (bool, error) {
	if name == "root" {
		return os.Getuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N cmd [arg…]")
	}
	want := args[0]
	if _, err := strconv.Atoi(want); err != nil && want != "killed" {
		ts.Fatalf("exits: bad status %q", want)
	}
	if have := exitStatus(ts, ts.Exec(args[1], args[2:]...)); have != want {
		ts.Fatalf("exits: %s: exit status %s, want %s", args[1], have, want)
	}
}

// exitStatus gives the status of a finished command as a scenario writes it.
func exitStatus(ts *testscript.TestScript, err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "0"
	case !errors.As(err, &exit):
		ts.Fatalf("exits: %v", err)
	case exit.ExitCode() < 0:
		return "killed"
	}
	return strconv.Itoa(exit.ExitCode())
}

func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines file N")
	}
	if have := strconv.Itoa(strings.Count(ts.ReadFile(args[0]), "\n")); have != args[1] {
		ts.Fatalf("lines: %s has %s lines, want %s", args[0], have, args[1])
	}
}
