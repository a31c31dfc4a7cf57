//go:build cgo

package db

import (
	"errors"

	"github.com/mattn/go-sqlite3"
)

// code gives SQLite's primary result code in err, 0 for none.
func code(err error) int {
	var e sqlite3.Error
	if errors.As(err, &e) {
		return int(e.Code)
	}
	return 0
}
