// Package status is the one place where an error becomes an exit status and a
// hint. Every tool returns errors; only main prints and exits.
package status

import (
	"errors"
	"fmt"
)

// The exit statuses of all tools. Their numbers are a contract: they are never
// reused for something else. See docs/records.md.
const (
	OK           = 0 // done, also: nothing to do
	General      = 1 // everything without a number of its own
	Usage        = 2 // bad arguments
	NoStore      = 3 // store not found
	NoCheckpoint = 4 // checkpoint not found
	Mount        = 5 // mount or unmount failed, or the mount is in the way
	CannotRun    = 6 // this machine lacks what the command needs
)

// Error carries an exit status and a hint through the layers.
type Error struct {
	Status int    // one of the constants above
	Hint   string // what the user can do, best a command that can be pasted; may be empty
	Err    error  // what happened; never nil
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error with an exit status; the format takes %w.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Status: code, Err: fmt.Errorf(format, args...)}
}

// WithHint adds a hint to the error and returns it.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Of gives the exit status of err: OK for nil, General where nothing else was
// said.
func Of(err error) int {
	if err == nil {
		return OK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return General
}

// HintOf gives the hint that travels with err, or "".
func HintOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
