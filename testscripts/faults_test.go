//go:build linux

package testscripts

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// faultPoints gives the steps at which the tools can die or fail, as they list them.
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

// kill is the fault that ends a process; the others make a call fail.
const kill = "kill"

var errnos = []string{"EIO", "ENOSPC", "EMFILE", "EINTR"}

// causes is what the errors are called in messages.
var causes = map[string]string{
	"EIO": "input/output error", "ENOSPC": "no space left", "EMFILE": "too many open files", "EINTR": "interrupted system call",
}

// seen collects the steps at which any scenario has let a tool die or fail.
var seen struct {
	sync.Mutex
	killed, failed map[string]bool
	scripts        int // how many scenarios have begun
}

func begin() {
	seen.Lock()
	defer seen.Unlock()
	seen.scripts++
}

func note(step, fault string) {
	seen.Lock()
	defer seen.Unlock()
	if seen.killed == nil {
		seen.killed, seen.failed = map[string]bool{}, map[string]bool{}
	}
	if fault == kill {
		seen.killed[step] = true
	} else {
		seen.failed[step] = true
	}
}

// faultsAt chooses what happens at a step of an operation: what FAULTS in the
// environment lists, as in "kill EIO ENOSPC EMFILE EINTR". Without it a death, and one
// error at every third, and wherever no scenario has let it fail yet.
func faultsAt(op, step string) []string {
	if list := strings.Fields(os.Getenv("FAULTS")); len(list) > 0 {
		return list
	}
	h := fnv.New32a()
	_, _ = io.WriteString(h, op+" "+step)
	n := h.Sum32()
	seen.Lock()
	defer seen.Unlock()
	if n%4 != 0 && seen.failed[step] {
		return []string{kill}
	}
	return []string{kill, errnos[n/4%uint32(len(errnos))]}
}

// killedAtEachStep is killed-at-each-step OP CHECK [ONLY]. OP runs once without
// harm, to see which steps it comes to, and then for each of them, to be killed there
// and to have a call fail there; a run may come to other steps than those before it.
// After each fault, and after the first run, CHECK runs and must succeed. It finds in
// its environment STEP and FAULT, empty after the first run, STATUS, which is OP's exit
// status, and SAID, a file with what OP wrote to standard error. Where OP ends badly
// because a call has failed, that must name the step or the error.
//
// ONLY is a regular expression for steps. Without it the steps of the band server
// are left out: it would live on with AGENTFS_CRASH_AT set.
func killedAtEachStep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: killed-at-each-step OP CHECK [ONLY]")
	}
	w := walker{ts: ts, op: args[0], check: args[1], done: map[string]bool{}, began: time.Now()}
	w.chosen = func(step string) bool { return !strings.HasPrefix(step, "bundlectl.serve.") }
	if len(args) == 3 {
		w.chosen = regexp.MustCompile(args[2]).MatchString
	}
	defer w.tell()
	_ = os.Remove(ts.MkAbs(".tmp/steps")) // another operation's
	w.run("", "")
	for step := w.next(); step != ""; step = w.next() {
		w.done[step] = true
		for _, fault := range faultsAt(ts.Name()+" "+w.op, step) {
			w.run(step, fault)
		}
	}
	if len(w.done) == 0 {
		ts.Fatalf("%s comes to no step", w.op)
	}
	w.whole = true
}

// walker walks through the steps of an operation.
type walker struct {
	ts        *testscript.TestScript
	op, check string
	chosen    func(step string) bool
	done      map[string]bool
	fails     bool // also without a fault, which need not be named then
	runs      int  // in which a fault has happened
	whole     bool // without a violation
	began     time.Time
}

// run runs op, with a fault at step, and then check.
func (w *walker) run(step, fault string) {
	mark := w.ts.MkAbs(".tmp/mark")
	_ = os.Remove(mark)
	at := step
	if fault != kill && fault != "" {
		at += ":" + fault
	}
	w.ts.Setenv("AGENTFS_CRASH_MARK", mark)
	w.ts.Setenv("AGENTFS_CRASH_STEPS", w.ts.MkAbs(".tmp/steps"))
	w.ts.Setenv("AGENTFS_CRASH_AT", at)
	err := w.ts.Exec("sh", w.op)
	for _, name := range []string{"AGENTFS_CRASH_AT", "AGENTFS_CRASH_MARK", "AGENTFS_CRASH_STEPS"} {
		w.ts.Setenv(name, "")
	}
	if _, err := os.Stat(mark); err != nil && step != "" {
		return // not this time
	}
	if step != "" {
		w.runs++
		note(step, fault)
	}
	w.judge(step, fault, exitCode(err))
}

// judge looks at what a run has left.
func (w *walker) judge(step, fault string, code int) {
	words := w.ts.ReadFile("stderr")
	said := w.ts.MkAbs(".tmp/said")
	w.ts.Check(os.WriteFile(said, []byte(words), 0o600))
	if step == "" {
		w.fails = code != 0
	}
	if isError := causes[fault] != ""; isError && code != 0 && !w.fails && !names(words, step, fault) {
		w.ts.Fatalf("%s at %q: %s ends with %d and does not name the cause", fault, step, w.op, code)
	}
	for name, value := range map[string]string{"STEP": step, "FAULT": fault, "STATUS": strconv.Itoa(code), "SAID": said} {
		w.ts.Setenv(name, value)
		defer w.ts.Setenv(name, "")
	}
	if err := w.ts.Exec("sh", "-e", w.check); err != nil {
		w.ts.Fatalf("%s at %q, and %s ended with %d: %s: %v", fault, step, w.op, code, w.check, err)
	}
}

// names tells whether what was said names the step or the error. Of the band server's
// the kernel makes another one.
func names(words, step, fault string) bool {
	if strings.HasPrefix(step, "bundlectl.serve.") {
		fault = "EIO"
	}
	return strings.Contains(words, step) || strings.Contains(strings.ToLower(words), causes[fault])
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// next gives a step that runs have come to and that has had no fault, "" for none.
func (w *walker) next() string {
	text, _ := os.ReadFile(w.ts.MkAbs(".tmp/steps"))
	for step := range strings.FieldsSeq(string(text)) {
		if w.chosen(step) && !w.done[step] {
			return step
		}
	}
	return ""
}

// tell logs what was done, and adds it as a line to the file that FAULTS_TABLE names:
// scenario, operation, steps, runs, violations, seconds.
func (w *walker) tell() {
	violations := 1
	if w.whole {
		violations = 0
	}
	name, op := strings.TrimPrefix(w.ts.Name(), "crash-"), strings.TrimSuffix(w.op, ".sh")
	line := fmt.Sprintf("%s %s %d %d %d %.0f\n", name, op, len(w.done), w.runs, violations, time.Since(w.began).Seconds())
	w.ts.Logf("scenario, operation, steps, faults, violations, seconds: %s", line)
	table := os.Getenv("FAULTS_TABLE")
	if table == "" {
		return
	}
	f, err := os.OpenFile(table, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(line)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.ts.Logf("FAULTS_TABLE: %v", err)
	}
}

// elsewhere says which steps no scenario here can come to: hosts that exchange two
// names in three renames are not at hand, and bandclone's own tests do as if; not every
// machine may grow a mounted filesystem.
func elsewhere(step string) bool {
	return strings.HasPrefix(step, "bandclone.exchange.") || step == "bundlectl.resize.device-grown" && !hasSysResource()
}

// checkAllStepsReached fails where a step of a tool was forgotten by all
// scenarios. It knows only if all of them have run.
func checkAllStepsReached(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if seen.scripts < len(scripts) || len(seen.killed) == 0 || t.Failed() {
		return
	}
	steps, err := faultPoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if elsewhere(step) {
			continue
		}
		if !seen.killed[step] {
			t.Errorf("no scenario kills a tool at %s", step)
		}
		if !seen.failed[step] {
			t.Errorf("no scenario lets a tool fail at %s", step)
		}
	}
}
