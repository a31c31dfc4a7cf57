package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/status"
)

// A restore can be read off the names in the bundle alone, at any moment.
//
// The clone that is to become the bands is named bands.swap-INO after its own
// inode number. So a directory of that name with that number is the new bands,
// not swapped in yet; with another number it is the old bands, swapped out.
//
// Where the filesystem cannot exchange two names in one step, three renames do
// it, by way of bands.aside-INO:
//
//	bands -> aside    then: no bands           settled by aside -> bands (nothing happened)
//	swap  -> bands    then: bands and aside    settled by aside -> swap  (exchanged)
//	aside -> swap
const (
	swapPrefix  = "bands.swap-"
	asidePrefix = "bands.aside-"
	trashPrefix = "bands."
)

var (
	exchangeAside = fault.Define("bandclone.exchange.aside") // bands set aside, there are none
	exchangeMoved = fault.Define("bandclone.exchange.moved") // the other ones in their place
)

// swap is the state of a restore in a bundle.
type swap struct {
	bundle *dir.Dir
	number string // INO of the names, "" if there is no restore
	aside  bool   // an exchange by renames was cut off
}

// readSwap reads the state of a restore.
func readSwap(bundle *dir.Dir) (*swap, error) {
	s := &swap{bundle: bundle}
	names, err := bundle.Names(func(name string) bool {
		return strings.HasPrefix(name, swapPrefix) || strings.HasPrefix(name, asidePrefix)
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		number, aside := strings.CutPrefix(name, asidePrefix)
		if !aside {
			number = strings.TrimPrefix(name, swapPrefix)
		}
		if s.number != "" && s.number != number {
			return nil, fmt.Errorf("%s: more than one restore: %s", bundle.Path(""), strings.Join(names, ", "))
		}
		s.number, s.aside = number, s.aside || aside
	}
	return s, nil
}

// pending tells whether a restore waits for --finish or --undo.
func (s *swap) pending() bool { return s.number != "" }

func (s *swap) name() string      { return swapPrefix + s.number }
func (s *swap) asideName() string { return asidePrefix + s.number }

// settle brings an exchange that was cut off to one of its ends.
func (s *swap) settle() error {
	if !s.aside {
		return nil
	}
	there, err := s.bundle.Exists(bandsName)
	if err != nil {
		return err
	}
	to := bandsName
	if there {
		to = s.name()
	}
	s.aside = false
	return s.bundle.RenameNew(s.asideName(), to)
}

// swapped tells whether the new bands are in place. A bundle that was copied in
// the middle of a restore has other inode numbers and does not tell.
func (s *swap) swapped() (bool, error) {
	for _, name := range []string{s.name(), bandsName} {
		info, err := s.bundle.Stat(name)
		if err != nil {
			return false, err
		}
		if strconv.FormatUint(info.Ino, 10) == s.number {
			return name == bandsName, nil
		}
	}
	return false, status.Errorf(status.General, "%s: cannot tell the old bands from the new: the bundle was copied during a restore", s.bundle.Path("")).
		WithHint("bandclone restore --finish keeps bands, and deletes %s", s.name())
}

// exchange swaps the names of the two directories of bands.
func (s *swap) exchange() error {
	err := s.bundle.Exchange(s.name(), bandsName)
	if dir.Cannot(err) && !errors.Is(err, fs.ErrPermission) {
		err = s.exchangeByRenames()
	}
	if err != nil {
		return err
	}
	return s.bundle.Sync()
}

func (s *swap) exchangeByRenames() error {
	if err := s.bundle.RenameNew(bandsName, s.asideName()); dir.Stuck(err) {
		return status.Errorf(status.General, "%w: it is in the lower layer of an overlay filesystem", err).
			WithHint("agentfs restore --in-place, or put a copy of the store's directory (cp -a) in its place")
	} else if err != nil {
		return err
	}
	err := exchangeAside.Reach()
	if err == nil {
		err = s.bundle.RenameNew(s.name(), bandsName)
	}
	if err != nil {
		return errors.Join(err, s.bundle.RenameNew(s.asideName(), bandsName))
	}
	if err := exchangeMoved.Reach(); err != nil {
		return err
	}
	return s.bundle.RenameNew(s.asideName(), s.name())
}

// discard removes what is swapped out. It gets a name first that no command
// takes for the bands of a restore: half of them must never be swapped in.
func (s *swap) discard() error {
	if err := stage.Trash(s.bundle, s.name(), trashPrefix); err != nil {
		return err
	}
	return s.bundle.Sync()
}

// sweepBundle removes what finished or dead restores have left.
func sweepBundle(bundle *dir.Dir) error {
	return stage.Sweep(bundle, trashPrefix, regexp.QuoteMeta(bandsName))
}
