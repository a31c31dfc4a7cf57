//go:build linux

package check

import (
	"maps"
	"slices"

	"agentfs.internal/testscripts/crash/claims"
)

// files maps a path to the sums that are right for it; "" stands for no file.
type files map[string][]string

// add allows for these sums, too.
func (f files) add(path string, sums ...string) {
	if f[path] == nil {
		f[path] = []string{""}
	}
	f[path] = append(slices.Clone(f[path]), sums...)
}

// store is what is expected of one store.
type store struct {
	maybe       bool    // it is being made or deleted
	files       []files // what they may be: all as in one of these
	checkpoints map[int64]*checkpoint
	gone        map[int64]bool // deleted, and that was acknowledged
	used        int64          // the highest version that was ever acknowledged
}

// checkpoint is what is expected of one version.
type checkpoint struct {
	claims.Claim
	durable bool
	maybe   bool // it is being made or deleted: there or not
	files   files
}

func newStore(f files) *store {
	return &store{files: []files{maps.Clone(f)}, checkpoints: map[int64]*checkpoint{}, gone: map[int64]bool{}}
}

// expect works out what follows from the claims, by store.
func expect(before, underway []claims.Claim) map[string]*store {
	stores := map[string]*store{}
	for _, c := range before {
		acknowledged(stores, c)
	}
	for _, c := range underway {
		begun(stores, c)
	}
	return stores
}

func of(stores map[string]*store, name string) *store {
	if stores[name] == nil {
		stores[name] = newStore(files{})
	}
	return stores[name]
}

func acknowledged(stores map[string]*store, c claims.Claim) {
	s := of(stores, c.Store)
	switch c.Kind {
	case claims.Fsynced:
		s.files[0][c.Path] = []string{c.Sum}
	case claims.Checkpoint:
		s.checkpoints[c.Version] = &checkpoint{Claim: c, files: maps.Clone(s.files[0])}
		s.used = max(s.used, c.Version)
	case claims.Durable:
		s.checkpoints[c.Version].durable = true
	case claims.Restored:
		s.files[0] = s.after(c.Version)
	case claims.Forked:
		stores[c.Store] = newStore(stores[c.From].checkpoints[c.Version].files)
	case claims.Deleted:
		delete(s.checkpoints, c.Version)
		s.gone[c.Version] = true
		if c.Version == 0 {
			delete(stores, c.Store)
		}
	}
}

// after gives the files after a restore: what the version lacks is not there.
func (s *store) after(version int64) files {
	f := files{}
	for path := range s.files[0] {
		f[path] = []string{""}
	}
	maps.Copy(f, s.checkpoints[version].files)
	return f
}

// begun allows for both ends of what is under way.
func begun(stores map[string]*store, c claims.Claim) {
	if c.Kind == claims.Forked {
		s := newStore(stores[c.From].checkpoints[c.Version].files)
		s.maybe = true
		stores[c.Store] = s
		return
	}
	s := of(stores, c.Store)
	switch c.Kind {
	case claims.Fsynced:
		s.files[0].add(c.Path, c.Sum)
	case claims.Checkpoint:
		s.checkpoints[c.Version] = &checkpoint{Claim: c, maybe: true, files: maps.Clone(s.files[0])}
	case claims.Restored:
		after := s.after(c.Version)
		if !c.InPlace {
			s.files = append(s.files, after)
			return
		}
		for path, sums := range after {
			s.files[0].add(path, sums...)
		}
	case claims.Deleted:
		if c.Version == 0 {
			s.maybe = true
		} else if p := s.checkpoints[c.Version]; p != nil {
			p.maybe = true
		}
	}
}
