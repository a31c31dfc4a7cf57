package hdiutil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"agentfs.internal/tool/status"
)

// The exit statuses that can pass by themselves. An expired time limit of
// DiskArbitration, 49168, arrives as 16 too: a status has eight bits.
const (
	exitBusy  = 16 // EBUSY
	exitAgain = 35 // EAGAIN, as macOS counts
)

// failure is hdiutil's own report that it could not do a thing.
type failure struct {
	code int    // its exit status
	text string // its own words, one line
}

func (f *failure) Error() string { return f.text }

// passing tells whether err may be gone at the next try.
func passing(err error) bool {
	var f *failure
	return errors.As(err, &f) && (f.code == exitBusy || f.code == exitAgain)
}

// run runs hdiutil once and gives its standard output.
func run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	// Interrupted it cleans up; killed it might leave a disk half attached.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, missing()
	case errors.As(err, &exit):
		return nil, &failure{code: exit.ExitCode(), text: words(talk.String(), err)}
	}
	return nil, fmt.Errorf("%s: %w", program, err)
}

// words picks the line that says what went wrong: the last that hdiutil signed,
// else the last at all.
func words(talk string, err error) string {
	last := ""
	for line := range strings.Lines(talk) {
		line = strings.TrimSpace(line)
		if signed := strings.HasPrefix(line, program+": "); signed || line != "" && !strings.HasPrefix(last, program+": ") {
			last = line
		}
	}
	switch {
	case last == "":
		return fmt.Sprintf("%s: %v", program, err)
	case !strings.HasPrefix(last, program+": "):
		return program + ": " + last
	}
	return last
}

// retry runs hdiutil until it answers something else than that the time is bad.
func retry(ctx context.Context, args ...string) ([]byte, error) {
	out, err := run(ctx, args...)
	for _, pause := range pauses {
		if !passing(err) {
			break
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		out, err = run(ctx, args...)
	}
	return out, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// also adds what went wrong while cleaning up after err, in the same line.
func also(err, cleanup error) error {
	if cleanup == nil {
		return err
	}
	return fmt.Errorf("%w; and then: %w", err, cleanup)
}

// shell quotes a path for a hint that is to be pasted.
func shell(path string) string {
	if plain.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

var plain = regexp.MustCompile(`^[\w/.,:=@%+-]+$`)

// wrap says what was done to which bundle; what already has an exit status, such
// as hdiutil missing, keeps it.
func wrap(code int, verb, bundle string, err error) *status.Error {
	var e *status.Error
	if errors.As(err, &e) {
		return &status.Error{Status: e.Status, Hint: e.Hint, Err: fmt.Errorf("%s %q: %w", verb, bundle, err)}
	}
	return status.Errorf(code, "%s %q: %w", verb, bundle, err)
}
