// Package restore makes a directory tree like another one, in place.
//
// Only what differs is touched. A file whose content differs is made aside, under a
// temporary name in its directory, and renamed into place: whoever opens it has the
// old one or the new one, whole. Where nothing but metadata differs the file stays
// the one that it is.
//
// It can be killed at any moment: what it finds when it runs again is a tree that
// differs, temporary names included, and it goes on from there.
package restore

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"agentfs.internal/tool/fault"
	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/trees"
)

var (
	planned = fault.Define("treediff.apply.planned")     // compared, nothing changed
	removed = fault.Define("treediff.apply.removed")     // a name that A lacks is gone
	linked  = fault.Define("treediff.apply.linked")      // a name was made another name of a file
	tidied  = fault.Define("treediff.apply.directories") // a directory has its metadata
	synced  = fault.Define("treediff.apply.synced")      // all is durable
)

// Restore is one restore. Done and Total may be read while it runs.
type Restore struct {
	Pair        *trees.Pair // its Times are set
	Done, Total atomic.Int64

	Added, Modified, Deleted, Metadata int64        // paths of B, by what was done
	Bytes                              atomic.Int64 // of data that was written
	Mounts                             []string

	mu       sync.Mutex
	touched  map[string]bool   // directories of B that get their metadata at the end; true: ready for changes of names
	created  map[string]bool   // those of them that B lacked
	loosened map[string]uint32 // directories outside the restriction, and the modes that they had
}

// Run makes B like A and durable.
func (r *Restore) Run(ctx context.Context) error {
	r.touched, r.created, r.loosened = map[string]bool{}, map[string]bool{}, map[string]uint32{}
	plan, err := r.plan(ctx)
	if err != nil {
		return err
	}
	if err := planned.Reach(); err != nil {
		return err
	}
	r.Total.Store(int64(plan.steps()))
	if err := r.apply(ctx, plan); err != nil {
		return err
	}
	if err := r.directories(); err != nil {
		return err
	}
	c := plan.counts
	r.Added, r.Modified, r.Deleted, r.Metadata = c.added, c.modified, c.deleted, c.metadata
	if plan.steps() > 0 {
		err = r.Pair.B.Sync()
	}
	if err == nil {
		err = synced.Reach()
	}
	return err
}

// plan compares the trees.
func (r *Restore) plan(ctx context.Context) (*plan, error) {
	r.Pair.Times = true
	if err := r.sweep(); err != nil {
		return nil, err
	}
	found, err := r.Pair.Compare(ctx)
	if err != nil {
		return nil, err
	}
	r.Mounts = found.Mounts
	if err := missingParents(r.Pair, found); err != nil {
		return nil, err
	}
	return newPlan(found)
}

// apply takes the steps of a plan. What must go goes first: it gives a full disk
// room, and the names that it has. Files of different directories are made at once.
func (r *Restore) apply(ctx context.Context, plan *plan) error {
	h := r.hand()
	defer h.close()
	for _, d := range plan.remove {
		if err := r.step(ctx, d.Path, func() error { return h.remove(d) }); err != nil {
			return err
		}
	}
	if err := h.makeAll(ctx, plan.dirs); err != nil {
		return err
	}
	if err := trees.Each(ctx, len(plan.files), func(i int) error {
		h := r.hand()
		defer h.close()
		return h.makeAll(ctx, plan.files[i])
	}); err != nil {
		return err
	}
	for _, l := range plan.link {
		if err := r.step(ctx, l.path, func() error { return h.link(l) }); err != nil {
			return err
		}
	}
	return nil
}

// hand works on one path after another, and keeps open the directories that it had
// last.
type hand struct {
	*Restore
	a, b lastDir
}

func (r *Restore) hand() *hand {
	return &hand{Restore: r, a: lastDir{root: r.Pair.A}, b: lastDir{root: r.Pair.B}}
}

func (h *hand) close() {
	h.a.close()
	h.b.close()
}

func (h *hand) makeAll(ctx context.Context, list []making) error {
	for _, m := range list {
		if err := h.step(ctx, m.Path, func() error { return h.make(m) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *Restore) step(ctx context.Context, path string, do func() error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("restore %q: %w", path, err)
	}
	r.Done.Add(1)
	return nil
}

// remove removes a name of B, a directory when it is empty.
func (h *hand) remove(d *trees.Difference) error {
	at, name := trees.Split(d.Path)
	b, err := h.writable(at)
	if err != nil {
		return err
	}
	if d.B.IsDir() {
		err = b.Rmdir(name)
	} else {
		err = b.Unlink(name)
	}
	if err != nil && !dir.Gone(err) {
		return err
	}
	return removed.Reach()
}

// link makes a name of B another name of a file that is there.
func (h *hand) link(l link) error {
	at, name := trees.Split(l.path)
	from, leader := trees.Split(l.leader)
	file, err := h.Pair.B.Below(from)
	if err != nil {
		return err
	}
	defer file.Close()
	b, err := h.writable(at)
	if err != nil {
		return err
	}
	temp := tempName()
	if err := file.Link(leader, b, temp); err != nil {
		return err
	}
	if err := b.Rename(temp, name); err != nil {
		_ = b.Unlink(temp)
		return err
	}
	err = linked.Reach()
	// Renaming onto another name of the same file does nothing.
	if e := b.Unlink(temp); err == nil && !dir.Gone(e) {
		err = e
	}
	return err
}

// directories gives the directories that were touched their metadata: the deepest
// first, since a mode may be in the way.
func (r *Restore) directories() error {
	paths := slices.SortedFunc(maps.Keys(r.touched), func(x, y string) int { return trees.ComparePaths(y, x) })
	for _, path := range paths {
		if err := r.directory(path); err != nil {
			return fmt.Errorf("restore %q: %w", path, err)
		}
		if err := tidied.Reach(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Restore) directory(path string) error {
	b, err := r.Pair.B.Below(path)
	if dir.Gone(err) {
		return nil // removed, too
	}
	if err != nil {
		return err
	}
	defer b.Close()
	if mode, ok := r.loosened[path]; ok {
		return b.Chmod(mode)
	}
	if !r.within(path) {
		return nil
	}
	a, err := r.Pair.A.Below(path)
	if err != nil {
		return err
	}
	defer a.Close()
	return dress(a, "", b, "")
}

// within tells whether a directory's own metadata is to be restored. Directories
// that a restriction's paths are in keep theirs, unless they were missing.
func (r *Restore) within(path string) bool {
	return r.created[path] || !slices.ContainsFunc(r.Pair.Paths, func(p string) bool {
		return trees.IsBelow(p, path)
	})
}

// writable opens a directory of B to change names in it.
func (h *hand) writable(at string) (*dir.Dir, error) {
	b, err := h.b.open(at)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.touched[at] {
		return b, nil
	}
	h.touched[at] = true
	if os.Geteuid() == 0 {
		return b, nil
	}
	self, err := b.Self()
	if err != nil || self.Perm()&0o700 == 0o700 {
		return b, err
	}
	if !h.within(at) {
		h.loosened[at] = self.Perm()
	}
	return b, b.Chmod(self.Perm() | 0o700)
}

// lastDir keeps the directory open that was asked for last: paths come sorted.
type lastDir struct {
	root *dir.Dir
	path string
	dir  *dir.Dir
}

// open opens a directory below the root, or gives the last one again.
func (l *lastDir) open(path string) (d *dir.Dir, err error) {
	if l.dir != nil && l.path == path {
		return l.dir, nil
	}
	l.close()
	l.dir, err = l.root.Below(path)
	l.path = path
	return l.dir, err
}

func (l *lastDir) close() {
	l.dir.Close()
	l.dir = nil
}
