package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"

	"agentfs.internal/tool/status"
)

// ErrInterrupted is the error of a pipeline that a signal to this process ended.
var ErrInterrupted = status.Errorf(status.General, "interrupted")

// Failure is a stage that failed, with what it said about it.
type Failure struct {
	Tool  string // the tool's name
	Code  int    // its exit status
	Words string // its standard error: lines for people, whole
}

func (f *Failure) Error() string { return strings.TrimSpace(f.Words) }

// Unwrap lets status.Of find the exit status.
func (f *Failure) Unwrap() error { return status.Errorf(f.Code, "") }

// blame finds the stage that failed first in the order of the pipeline; those
// behind it only miss their input. A stage that died writing to one that had
// gone is not the cause either: the one behind it is.
func blame(procs []*proc) error {
	var found *Failure
	for _, p := range procs {
		if p.err == nil {
			continue
		}
		piped := brokenPipe(p.err)
		if found == nil || !piped {
			found = p.failure()
		}
		if !piped {
			break
		}
	}
	if found == nil {
		return nil
	}
	return found
}

func (p *proc) failure() *Failure {
	f := &Failure{Tool: p.Args[0], Code: exitStatus(p.err), Words: p.words.text.String()}
	_, killed := signalOf(p.err)
	if ended := errors.As(p.err, new(*exec.ExitError)); !ended || killed || f.Words == "" {
		f.Words += fmt.Sprintf("%s: %v\n", f.Tool, p.err) // what it could not say itself
	}
	return f
}

// exitStatus gives the status of a tool's contract: what lies outside of it, as
// with a tool that was killed, is a general error.
func exitStatus(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if code := exit.ExitCode(); code > status.OK && code <= status.CannotRun {
			return code
		}
	}
	return status.General
}

func brokenPipe(err error) bool {
	sig, killed := signalOf(err)
	return killed && sig == syscall.SIGPIPE
}

// signalOf gives the signal that ended a stage.
func signalOf(err error) (sig syscall.Signal, killed bool) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, false
	}
	ws, ok := exit.Sys().(syscall.WaitStatus)
	return ws.Signal(), ok && ws.Signaled()
}

// mostWords bounds what is kept of a stage's standard error.
const mostWords = 64 << 10

// words keeps the beginning of what a stage says. Progress goes on to live instead,
// where there is one: what begins with a carriage return, up to the end of the line.
type words struct {
	text     bytes.Buffer
	live     io.Writer
	progress bool // in the middle of such a line
}

func (w *words) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		var part []byte
		part, rest = w.cut(rest)
		if w.progress && w.live != nil {
			_, _ = w.live.Write(part)
		} else if room := mostWords - w.text.Len(); room > 0 {
			w.text.Write(part[:min(room, len(part))])
		}
		if part[len(part)-1] == '\n' {
			w.progress = false
		}
	}
	return len(p), nil
}

// cut takes the part of p off that is all progress or all words.
func (w *words) cut(p []byte) (part, rest []byte) {
	if p[0] == '\r' {
		w.progress = true
	}
	end := len(p)
	if w.progress {
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			end = i + 1
		}
	} else if i := bytes.IndexByte(p, '\r'); i >= 0 {
		end = i
	}
	return p[:end], p[end:]
}
