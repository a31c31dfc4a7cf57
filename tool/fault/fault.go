// Package fault names the steps at which a process may die, so that a test can
// kill it at exactly one of them.
//
// A step is defined once, as a package variable, and reached in the code:
//
//	var beforeRename = fault.Define("bandclone.create.before-rename")
//	...
//	beforeRename.Reach()
//
// With AGENTFS_CRASH_AT=bandclone.create.before-rename in the environment the
// process kills itself there with SIGKILL: nothing deferred runs, as in a real
// crash. Without it Reach costs two string comparisons.
//
// AGENTFS_CRASH_MARK names a file that is made then. Where it is there already,
// nobody is killed: a step is survived by whoever comes to it next.
//
// AGENTFS_CRASH_STEPS names a file to which the name of every step is appended
// that is reached: what there is to be killed at.
package fault

import (
	"os"
	"slices"
	"syscall"
	"time"
)

// Step is a named point in the code at which the process may be killed.
type Step struct{ name string }

var (
	crashAt = os.Getenv("AGENTFS_CRASH_AT")
	stepLog = os.Getenv("AGENTFS_CRASH_STEPS")
	names   []string
)

// Define names a step. Names are "tool.verb.step".
func Define(name string) Step {
	names = append(names, name)
	return Step{name}
}

// Reach kills the process if this step is the one asked for.
func (s Step) Reach() {
	if stepLog != "" {
		s.note()
	}
	if crashAt == "" || crashAt != s.name {
		return
	}
	if mark := os.Getenv("AGENTFS_CRASH_MARK"); mark != "" {
		f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		_ = f.Close()
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	time.Sleep(time.Minute) // the signal is on its way
}

func (s Step) note() {
	f, err := os.OpenFile(stepLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = f.WriteString(s.name + "\n")
		_ = f.Close()
	}
}

// Names lists all steps of this binary, sorted.
func Names() []string {
	slices.Sort(names)
	return slices.Clone(names)
}
