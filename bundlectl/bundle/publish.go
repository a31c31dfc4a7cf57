package bundle

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agentfs.internal/tool/fault"
)

var publishWritten = fault.Define("bundlectl.create.written")

// Publish makes a new bundle without bands, as Write does, in a directory beside
// its place, and renames it there: it appears complete or not at all.
func Publish(path string, info Info) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	if !strings.HasSuffix(path, Suffix) {
		return fmt.Errorf("the name does not end in %s", Suffix)
	}
	parent := filepath.Dir(path)
	temp, err := os.MkdirTemp(parent, ".create-*")
	if err != nil {
		return err
	}
	made := filepath.Join(temp, filepath.Base(path))
	if err = Write(made, info); err == nil {
		if err = publishWritten.Reach(); err == nil {
			err = os.Rename(made, path) // onto nothing: a bundle is no empty directory
		}
	}
	return cmp.Or(err, os.RemoveAll(temp), syncDir(parent))
}
