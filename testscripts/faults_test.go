//go:build linux

package testscripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// faultPoints gives the steps at which the tools can be killed, as they list them.
var faultPoints = sync.OnceValues(func() ([]string, error) {
	var all []string
	for _, tool := range tools {
		out, err := exec.Command(tool, "--fault-points").Output()
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Fields(string(out))...)
	}
	return all, nil
})

// reached collects the steps that were reached by any scenario.
var reached struct {
	sync.Mutex
	steps   map[string]bool
	scripts int // how many scenarios have begun
}

func begin() {
	reached.Lock()
	defer reached.Unlock()
	reached.scripts++
}

func reach(step string) {
	reached.Lock()
	defer reached.Unlock()
	if reached.steps == nil {
		reached.steps = map[string]bool{}
	}
	reached.steps[step] = true
}

// killedAtEachStep is killed-at-each-step OP CHECK [ONLY]. OP runs once without
// harm, to see which steps it comes to, and then once for each of them, to be
// killed there; a run may come to other steps than those before it. After each
// death, and after the first run, CHECK runs, with STEP in its environment, and
// must succeed. OP's own status does not matter.
//
// ONLY is a regular expression for steps. Without it the steps of the band server
// are left out: it would live on with AGENTFS_CRASH_AT set.
func killedAtEachStep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: killed-at-each-step OP CHECK [ONLY]")
	}
	k := killer{ts: ts, op: args[0], check: args[1], done: map[string]bool{}}
	k.chosen = func(step string) bool { return !strings.HasPrefix(step, "bundlectl.serve.") }
	if len(args) == 3 {
		k.chosen = regexp.MustCompile(args[2]).MatchString
	}
	k.run("")
	for step := k.next(); step != ""; step = k.next() {
		k.run(step)
	}
	if len(k.done) == 0 {
		ts.Fatalf("%s comes to no step", k.op)
	}
	ts.Logf("killed at %d steps", len(k.done))
}

type killer struct {
	ts        *testscript.TestScript
	op, check string
	chosen    func(step string) bool
	done      map[string]bool
}

// run runs op, to be killed at step, and then check.
func (k *killer) run(step string) {
	mark := k.ts.MkAbs(".tmp/mark")
	_ = os.Remove(mark)
	k.ts.Setenv("AGENTFS_CRASH_MARK", mark)
	k.ts.Setenv("AGENTFS_CRASH_STEPS", k.ts.MkAbs(".tmp/steps"))
	k.ts.Setenv("AGENTFS_CRASH_AT", step)
	_ = k.ts.Exec("sh", k.op)
	for _, name := range []string{"AGENTFS_CRASH_AT", "AGENTFS_CRASH_MARK", "AGENTFS_CRASH_STEPS"} {
		k.ts.Setenv(name, "")
	}
	if step != "" {
		k.done[step] = true
		if _, err := os.Stat(mark); err != nil {
			return // not this time
		}
		reach(step)
	}
	k.ts.Setenv("STEP", step)
	if err := k.ts.Exec("sh", "-e", k.check); err != nil {
		k.ts.Fatalf("after death at %q: %s: %v", step, k.check, err)
	}
}

// next gives a step that runs have come to and nobody was killed at, "" for none.
func (k *killer) next() string {
	text, _ := os.ReadFile(k.ts.MkAbs(".tmp/steps"))
	for step := range strings.FieldsSeq(string(text)) {
		if k.chosen(step) && !k.done[step] {
			return step
		}
	}
	return ""
}

// elsewhere says which steps no scenario here can come to: hosts that exchange two
// names in three renames are not at hand, and bandclone's own tests do as if.
func elsewhere(step string) bool { return strings.HasPrefix(step, "bandclone.exchange.") }

// checkAllStepsReached fails where a step of a tool was forgotten by all
// scenarios. It knows only if all of them have run.
func checkAllStepsReached(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if reached.scripts < len(scripts) || len(reached.steps) == 0 || t.Failed() {
		return
	}
	steps, err := faultPoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if !reached.steps[step] && !elsewhere(step) {
			t.Errorf("no scenario kills a tool at %s", step)
		}
	}
}
