// Package stage makes directories appear complete or not at all, and disappear
// the same way.
//
// A directory grows under a temporary name, BASE.tmp-RANDOM, and gets its own by
// one rename. Its maker holds a lock on it meanwhile, which the kernel gives up
// when the maker dies: a temporary directory whose lock can be taken is a
// leftover, and Sweep removes it. To be removed, a directory first gets a name
// that nobody looks for, with TrashMark in it; from then on it is only trash.
package stage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/fault"
)

var (
	made          = fault.Define("bandclone.stage.made")   // a directory under a temporary name, not locked yet
	partlyRemoved = fault.Define("bandclone.stage.partly") // the first file of a directory that is being removed
	latestMade    = fault.Define("bandclone.latest.made")  // not in place yet
)

// Dir is a directory under a temporary name.
type Dir struct {
	*dir.Dir
	parent *dir.Dir
	name   string
}

// New makes a temporary directory for base in parent: fill makes it under the
// name that it is given, by mkdir or by cloning one.
func New(parent *dir.Dir, base string, fill func(name string) error) (*Dir, error) {
	for range 8 {
		name := base + ".tmp-" + random()
		if err := fill(name); err != nil {
			return nil, err
		}
		if err := made.Reach(); err != nil {
			return nil, err
		}
		d, err := claim(parent, name)
		if d != nil || err != nil {
			return d, err
		}
	}
	return nil, fmt.Errorf("%s: others keep removing the temporary directory", parent.Path(base))
}

// Adopt makes the directory name, if it is there, a temporary one for base, with
// all that is in it. It is nil if there is none. One that is stuck is removed.
func Adopt(parent *dir.Dir, name, base string) (*Dir, error) {
	temp := base + ".tmp-" + random()
	err := parent.Rename(name, temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if dir.Stuck(err) {
		return nil, removeHere(parent, name)
	}
	if err != nil {
		return nil, err
	}
	return claim(parent, temp)
}

// claim opens and locks the new directory. It is nil if a sweep was faster:
// between mkdir and the lock a new directory looks like a leftover.
func claim(parent *dir.Dir, name string) (*Dir, error) {
	d, err := parent.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mine, err := d.TryLock()
	if err == nil && mine && parent.Is(name, d) {
		return &Dir{d, parent, name}, nil
	}
	d.Close()
	return nil, err
}

// Publish gives the directory its name, where there may be nothing yet.
func (s *Dir) Publish(name string) error { return s.parent.RenameNew(s.name, name) }

// Discard removes a directory that was not published.
func (s *Dir) Discard() {
	if s.parent.Is(s.name, s.Dir) {
		_ = remove(s.parent, s.name, s.Dir)
	}
	s.Close()
}

// random is hard to guess and as good as never the same twice.
func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%016x", b)
}

const randomPattern = `[0-9a-f]{16}$`

// remove removes a directory and the files in it. It is flat: what holds
// directories was not made by us and is left alone. Whoever sums the bands of a
// checkpoint may rename a file in it meanwhile.
func remove(parent *dir.Dir, name string, d *dir.Dir) (err error) {
	for range 3 {
		if err = empty(d); err != nil {
			return err
		}
		if err = parent.Rmdir(name); !errors.Is(err, fs.ErrExist) { // ENOTEMPTY
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// empty removes all files in a directory.
func empty(d *dir.Dir) error {
	files, err := d.Names(func(string) bool { return true })
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := d.Unlink(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := partlyRemoved.Reach(); err != nil {
			return err
		}
	}
	return nil
}

// TrashMark is in the name of what is being removed.
const TrashMark = "trash-"

// Trash renames a directory to prefix, TrashMark and a random number. It is
// then gone for everybody; Sweep removes it. One that is stuck is removed file by file,
// and killed meanwhile this leaves some of them.
func Trash(parent *dir.Dir, name, prefix string) error {
	err := parent.Rename(name, prefix+TrashMark+random())
	if dir.Stuck(err) {
		return removeHere(parent, name)
	}
	return err
}

// removeHere removes a directory under the name that it has.
func removeHere(parent *dir.Dir, name string) error {
	d, err := parent.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return remove(parent, name, d)
}

// Sweep removes the leftovers in parent: all trash of the prefix, and temporary
// directories for names that match base, a regular expression, whose makers
// have died.
func Sweep(parent *dir.Dir, prefix, base string) error {
	trash, names, err := candidates(parent, prefix, base)
	for _, name := range names {
		if e := sweep(parent, name, trash.MatchString(name)); err == nil {
			err = e
		}
	}
	return err
}

// Leftovers gives the names of what Sweep would remove.
func Leftovers(parent *dir.Dir, prefix, base string) ([]string, error) {
	trash, names, err := candidates(parent, prefix, base)
	var left []string
	for _, name := range names {
		d, e := parent.Open(name)
		if e != nil {
			continue // somebody has just removed it
		}
		if dead, e := abandoned(parent, name, d); e == nil && dead || trash.MatchString(name) {
			left = append(left, name)
		}
		d.Close()
	}
	return left, err
}

// candidates gives the names in parent that may be leftovers, and what tells trash from
// temporary directories.
func candidates(parent *dir.Dir, prefix, base string) (trash *regexp.Regexp, names []string, err error) {
	trash = regexp.MustCompile(`^` + regexp.QuoteMeta(prefix+TrashMark) + randomPattern)
	temporary := regexp.MustCompile(`^(?:` + base + `)\.tmp-` + randomPattern)
	names, err = parent.Names(func(name string) bool {
		return trash.MatchString(name) || temporary.MatchString(name)
	})
	return trash, names, err
}

// sweep removes one leftover.
func sweep(parent *dir.Dir, name string, trash bool) error {
	d, err := parent.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	dead, err := abandoned(parent, name, d)
	if err != nil || !dead && !trash {
		return err
	}
	return remove(parent, name, d)
}

// abandoned tells whether the maker of a temporary directory has died. That the
// lock can be taken does not tell it alone: the maker may have published the
// directory and ended since d was opened, so the name must still be d's.
func abandoned(parent *dir.Dir, name string, d *dir.Dir) (bool, error) {
	free, err := d.TryLock()
	return free && parent.Is(name, d), err
}
