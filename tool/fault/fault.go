// Package fault names the steps at which a process may die, or a call may fail, so
// that a test can let it happen at exactly one of them.
//
// A step is defined once, as a package variable, and reached in the code, before the
// call that may fail:
//
//	var beforeRename = fault.Define("bandclone.create.before-rename")
//	...
//	if err := beforeRename.Reach(); err != nil {
//		return err
//	}
//
// With AGENTFS_CRASH_AT=bandclone.create.before-rename in the environment the
// process kills itself there with SIGKILL: nothing deferred runs, as in a real
// crash. With AGENTFS_CRASH_AT=bandclone.create.before-rename:EIO Reach returns that
// error, as the next call would (EIO, ENOSPC, EMFILE or EINTR). Without it Reach
// costs two string comparisons.
//
// AGENTFS_CRASH_MARK names a file that is made then. Where it is there already,
// nothing happens: a step is survived by whoever comes to it next.
//
// AGENTFS_CRASH_STEPS names a file to which the name of every step is appended
// that is reached: what there is to be killed at.
package fault

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Step is a named point in the code at which the process may be killed, or fail.
type Step struct{ name string }

var (
	crashAt, crashBy, _ = strings.Cut(os.Getenv("AGENTFS_CRASH_AT"), ":")
	stepLog             = os.Getenv("AGENTFS_CRASH_STEPS")
	names               []string
)

// errnos are the errors that can be asked for.
var errnos = map[string]syscall.Errno{
	"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EMFILE": syscall.EMFILE, "EINTR": syscall.EINTR,
}

// Define names a step. Names are "tool.verb.step".
func Define(name string) Step {
	names = append(names, name)
	return Step{name}
}

// Reach kills the process if this step is the one asked for, or returns the error
// that is to happen there. The error wraps a syscall.Errno and names the step.
func (s Step) Reach() error {
	if stepLog != "" {
		s.note()
	}
	if crashAt == "" || crashAt != s.name {
		return nil
	}
	if mark := os.Getenv("AGENTFS_CRASH_MARK"); mark != "" {
		f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil
		}
		_ = f.Close()
	}
	if crashBy != "" {
		errno, ok := errnos[crashBy]
		if !ok {
			return fmt.Errorf("AGENTFS_CRASH_AT: unknown error %q", crashBy)
		}
		return fmt.Errorf("%s: %w", s.name, errno)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	time.Sleep(time.Minute) // the signal is on its way
	return nil
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
