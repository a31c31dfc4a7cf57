// Package durable makes names that outlive a power cut.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Mkdir is os.Mkdir, and the name is on the disk when it returns. Where the directory
// is there already, the error is fs.ErrExist, and its name is on the disk, too: who
// has just made it may not have come so far.
func Mkdir(path string, mode fs.FileMode) error {
	err := os.Mkdir(path, mode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return errors.Join(err, SyncDir(filepath.Dir(path)))
}

// MkdirAll is os.MkdirAll, and the names of all directories that it has made are on
// the disk when it returns.
func MkdirAll(path string, mode fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	err := Mkdir(path, mode)
	if info, e := os.Stat(path); errors.Is(err, fs.ErrExist) && e == nil && info.IsDir() {
		return nil // somebody else was faster
	}
	return err
}

// SyncDir makes the names in a directory durable. One that may not be read cannot be
// synced, and is left to the host.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
