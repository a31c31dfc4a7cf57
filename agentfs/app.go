package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

// app is what all verbs share: the global flags and where the caller stands.
type app struct {
	store   string
	home    string // absolute once begin has run
	homeSet string // by what, for people
	json    bool
	force   bool
	tracing bool
	patient bool // waits for others without a word

	remounted bool // a repair has mounted the store

	io  command.IO
	cwd string // "" where the caller's directory is gone
	run *pipeline.Runner
}

// begin looks where the caller stands and then leaves: a process that stands in
// a mount would itself hold the mount that it is asked to end.
func (a *app) begin(stdio command.IO) error {
	a.io, a.cwd = stdio, standing()
	if err := a.settle(); err != nil {
		return err
	}
	a.run = &pipeline.Runner{Find: command.Self, Err: stdio.Err}
	if a.tracing {
		a.run.Trace = stdio.Err
	}
	// A reader that goes away in the middle of a restore must not kill it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return os.Chdir("/")
}

// settle makes the home directory absolute and tells it to the tools.
func (a *app) settle() (err error) {
	switch a.home {
	case "":
		a.home, a.homeSet = "~/.agentfs", "default"
	case os.Getenv("AGENTFS_HOME"):
		a.homeSet = "AGENTFS_HOME"
	default:
		a.homeSet = "--home"
	}
	if a.home, err = a.abs(a.home); err != nil {
		return err
	}
	if err := a.trust(); err != nil {
		return err
	}
	return os.Setenv("AGENTFS_HOME", a.home)
}

// trust refuses a home that somebody else has made or can write, as one in /tmp may be:
// what is in it says where files are written and deleted. Who has become root by sudo
// may use his own.
func (a *app) trust() error {
	st, err := os.Stat(a.home)
	if err != nil {
		return nil // not there yet
	}
	owner := int(st.Sys().(*syscall.Stat_t).Uid)
	if owner != 0 && owner != os.Geteuid() && strconv.Itoa(owner) != os.Getenv("SUDO_UID") {
		return status.Errorf(status.General, "%s belongs to another user (uid %d)", visible(tilde(a.home)), owner).
			WithHint("choose another home with --home, or take it: chown -R %d %s", os.Geteuid(), a.home)
	}
	if st.Mode().Perm()&0o002 != 0 {
		return status.Errorf(status.General, "%s can be written by everybody", visible(tilde(a.home))).
			WithHint("chmod o-w %s", a.home)
	}
	return nil
}

// standing gives the caller's directory. Where it has been deleted, or its mount
// was ended under it, the shell's memory of it still tells what stands above.
func standing() string {
	if dir, err := os.Getwd(); err == nil {
		return dir
	}
	if dir := os.Getenv("PWD"); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// report prints why a pipeline ended, a failed stage's words as they are; the
// error that is left carries the exit status alone.
func (a *app) report(err error) error {
	var f *pipeline.Failure
	switch {
	case errors.As(err, &f):
		_, _ = io.WriteString(a.io.Err, f.Words)
	case errors.Is(err, pipeline.ErrInterrupted):
		a.warn("%v", err)
	default:
		return err
	}
	return status.Errorf(status.Of(err), "")
}

// warn tells people what does not change the exit status.
func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.io.Err, "agentfs: "+format+"\n", args...)
}

// millis is the time since then, in milliseconds.
func millis(since time.Time) float64 {
	return float64(time.Since(since).Microseconds()) / 1000
}
