package main

import (
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/fault"
)

var (
	endExchanged = fault.Define("bandclone.undo.exchanged") // the old bands are back, the new ones beside them
	endTrashed   = fault.Define("bandclone.finish.trashed") // what is to be deleted has its last name
)

// endRestore ends a restore: what is swapped out is deleted, after the old bands
// have been swapped back in if undo is set.
func endRestore(bundle *dir.Dir, undo bool) error {
	s, err := readSwap(bundle)
	if err != nil {
		return err
	}
	if s.pending() {
		if err := s.end(undo); err != nil {
			return err
		}
	}
	return sweepBundle(bundle)
}

func (s *swap) end(undo bool) error {
	if err := s.settle(); err != nil {
		return err
	}
	if _, err := s.bundle.Stat(bandsName); err != nil {
		return err // what is beside them may be the only bands
	}
	if undo {
		if err := s.back(); err != nil {
			return err
		}
	}
	if err := s.discard(); err != nil {
		return err
	}
	return endTrashed.Reach()
}

// back puts the old bands in place, unless they are.
func (s *swap) back() error {
	swapped, err := s.swapped()
	if err != nil || !swapped {
		return err
	}
	if err := s.exchange(); err != nil {
		return err
	}
	return endExchanged.Reach()
}
