package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pmezard/go-difflib/difflib"

	"agentfs.internal/tool/fault"
)

var (
	written  = fault.Define("agentfs-hook.settings.written")   // under a temporary name
	backedUp = fault.Define("agentfs-hook.settings.backed-up") // not replaced yet
	replaced = fault.Define("agentfs-hook.settings.replaced")
)

// publish makes the file what it is to be, by one rename, with the mode and the owner
// that it had. The backup is written first; one that says no more than the file, or is
// of a file that was not there any more, goes.
func (c *change) publish() error {
	if same(c.before, c.after) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	if c.backup != nil && !same(c.backup, c.after) {
		if err := c.put(backupOf(c.path), c.backup); err != nil {
			return err
		}
		if err := backedUp.Reach(); err != nil {
			return err
		}
	}
	if err := c.replace(); err != nil {
		return err
	}
	if err := replaced.Reach(); err != nil {
		return fmt.Errorf("%s is changed all the same: %w", c.path, err)
	}
	if c.backup != nil && !same(c.backup, c.after) {
		return nil
	}
	c.backup = nil
	return ignore(os.ErrNotExist, os.Remove(backupOf(c.path)))
}

// replace puts the new text in the place of the old one.
func (c *change) replace() error {
	if c.after == nil {
		return os.Remove(c.path)
	}
	return c.put(c.path, c.after)
}

func ignore(what, err error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// temporary begins the names under which files are written.
const temporary = ".agentfs-"

// sweep removes what a put that was killed has left in a directory. One that is under
// way is younger.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir) // one that cannot be read shows in what comes next
	for _, e := range entries {
		st, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), temporary) && st.Mode().IsRegular() && time.Since(st.ModTime()) > time.Minute {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// put writes a file beside its place and renames it.
func (c *change) put(path string, text []byte) error {
	sweep(filepath.Dir(path))
	f, err := os.CreateTemp(filepath.Dir(path), temporary+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // not there any more, if all went well
	_, err = f.Write(text)
	err = errors.Join(err, c.dress(f), f.Sync(), f.Close(), written.Reach())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// dress gives a new file mode and owner of the one that there is.
func (c *change) dress(f *os.File) error {
	st, err := os.Stat(c.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
		err = f.Chown(int(sys.Uid), int(sys.Gid))
	}
	return errors.Join(err, f.Chmod(st.Mode().Perm()))
}

// diff shows the change as a patch.
func (c *change) diff() string {
	name := func(text []byte) string {
		if text == nil {
			return "/dev/null"
		}
		return c.path
	}
	text, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: lines(c.before), B: lines(c.after), FromFile: name(c.before), ToFile: name(c.after), Context: 3,
	}) // writes to memory, which does not fail
	return text
}

// lines splits a text; a last line without an end is marked as diff does.
func lines(text []byte) []string {
	all := strings.SplitAfter(string(text), "\n")
	last := len(all) - 1
	if all[last] == "" {
		return all[:last]
	}
	all[last] = fmt.Sprintln(all[last]) + "\\ No newline at end of file\n"
	return all
}
