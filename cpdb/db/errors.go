package db

import (
	"errors"
	"fmt"
	"path/filepath"

	"agentfs.internal/tool/status"
)

// SQLite's primary result codes that mean something to a user, as in sqlite3.h.
const (
	codePerm     = 3
	codeBusy     = 5
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeProtocol = 15
	codeNotADB   = 26
)

// isBusyCode tells whether SQLite failed only because of another process.
// SQLITE_PROTOCOL is what it says after losing the same race very often.
func isBusyCode(err error) bool {
	c := code(err)
	return c == codeBusy || c == codeProtocol
}

// damagedError says that the file is no database any more.
type damagedError struct{ error }

func (e damagedError) Unwrap() error { return e.error }

// damaged makes such an error.
func damaged(format string, args ...any) error {
	e := &status.Error{Status: status.General, Err: damagedError{fmt.Errorf(format, args...)}}
	return e.WithHint("agentfs doctor --repair")
}

// explain turns an error of SQLite into one that names the file and the cure.
// Errors that are about stores and checkpoints pass unchanged.
func explain(err error, path string) error {
	var told *status.Error
	if err == nil || errors.As(err, &told) {
		return err
	}
	if errors.Is(err, errBusy) {
		return status.Errorf(status.General, "%s: %w", path, err).WithHint("fuser -v %s", path)
	}
	text, hint := "", ""
	switch code(err) {
	case codeNotADB:
		return damaged("%s is not a database: %w", path, err)
	case codeCorrupt:
		return damaged("%s is damaged: %w", path, err)
	case codeFull:
		text, hint = "cannot grow: no space left", "df "+filepath.Dir(path)
	case codePerm, codeReadOnly, codeCantOpen:
		text, hint = "cannot be opened or written", "ls -ld "+filepath.Dir(path)+" "+path
	case codeIO:
		text = "cannot be read or written"
	default:
		return err
	}
	e := status.Errorf(status.General, "%s %s: %w", path, text, err)
	e.Hint = hint
	return e
}
