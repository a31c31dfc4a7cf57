package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// changes is how many files are changed: a line is added to each but two, of which
// one is deleted and one is new.
const changes = 10

// change makes the changes in a copy of the tree, in each run other ones.
func (t *tree) change(dir string, n int) error {
	gone, added, others := t.picked(dir, n)
	for _, path := range others {
		if err := appendLine(path, fmt.Sprintf("// change %d", n)); err != nil {
			return err
		}
	}
	return firstOf(os.Remove(gone), write(added, fmt.Appendf(nil, "// new %d\n", n)))
}

// mended tells whether the changes are gone again.
func (t *tree) mended(dir string, n int) error {
	gone, added, others := t.picked(dir, n)
	if _, err := os.Lstat(added); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is still there", added)
	}
	for _, path := range append(others, gone) {
		was, err := os.Stat(filepath.Join(t.dir, path[len(dir):]))
		if err != nil {
			return err
		}
		if is, err := os.Stat(path); err != nil || is.Size() != was.Size() {
			return fmt.Errorf("%s is not as it was", path)
		}
	}
	return nil
}

// picked are the files that are changed, from all over the tree.
func (t *tree) picked(dir string, n int) (gone, added string, others []string) {
	var paths []string
	for i := range changes {
		paths = append(paths, filepath.Join(dir, t.files[(n*7919+17+i*len(t.files)/changes)%len(t.files)]))
	}
	return paths[0], paths[1] + ".new", paths[2:]
}

// desk is a tree that is being worked on: mounted, saved as v1, and as it was then
// also beside, on the host's filesystem.
type desk struct {
	*tree
	store  *store
	beside string
}

// changing measures how changes are shown and taken back, and a fork.
func (b *bench) changing(ctx context.Context, t *tree) error {
	if !b.wanted("diff-warm", "diff-cold", "inplace", "remount", "fork", "auto", "hook") {
		return nil
	}
	d, err := b.newDesk(ctx, t)
	if err != nil {
		return err
	}
	for _, s := range []subject{b.diffing(d), b.diffingCold(d), b.inPlace(d), b.remounting(d), b.forking(d)} {
		if err := b.race(ctx, s); err != nil {
			return err
		}
	}
	return b.hooked(ctx, d)
}

// newDesk has git look at the tree before it is saved: its index then fits the
// inodes of the mount, also of each restored one.
func (b *bench) newDesk(ctx context.Context, t *tree) (d *desk, err error) {
	b.say("copying %s to where it is changed", t.title)
	d = &desk{tree: t, beside: filepath.Join(b.dir, "beside")}
	if d.store, err = b.newStore(ctx, "desk", b.dir); err != nil {
		return nil, err
	}
	if err := copyIn(ctx, t.dir, d.store.mount); err != nil {
		return nil, err
	}
	if err := firstOf(d.gitStatus().run(ctx), d.store.do("checkpoint", "create", "first").run(ctx)); err != nil {
		return nil, err
	}
	b.undo.push(d.beside, func() error { return os.RemoveAll(d.beside) })
	return d, copyIn(ctx, d.store.mount, d.beside)
}

func (d *desk) gitStatus() program {
	return program{dir: d.store.mount, args: []string{"git", "status", "--porcelain"}}
}

// asSaved brings back v1 with its very bands, whatever the last run has left, and
// fills the kernel's caches as work in the tree does.
func (d *desk) asSaved(ctx context.Context, _ int) error {
	if err := d.store.do("restore", "v1", "-f", "--remount").run(ctx); err != nil {
		return err
	}
	return firstOf(look(d.store.mount), look(d.beside), d.gitStatus().run(ctx))
}

// work makes the changes in the mount.
func (d *desk) work(_ context.Context, n int) error { return d.change(d.store.mount, n) }

// takingBack is a candidate that takes the changes back.
func (d *desk) takingBack(name string, p program) candidate {
	run := timedRun(p)
	return candidate{name: name, reset: d.asSaved, dirty: d.work,
		measure: func(ctx context.Context, n int) (float64, error) {
			v, err := run(ctx, n)
			return v, firstOf(err, d.mended(d.store.mount, n))
		}}
}

// listing is a candidate that writes one line for each of the changes.
func (d *desk) listing(name string, p program) candidate {
	p.out = d.beside + "-list"
	run := timedRun(p)
	return candidate{name: name, reset: d.asSaved, dirty: d.work,
		measure: func(ctx context.Context, n int) (float64, error) {
			v, err := run(ctx, n)
			if err != nil {
				return 0, err
			}
			text, err := os.ReadFile(p.out)
			if lines := bytes.Count(text, []byte("\n")); err == nil && lines != changes {
				err = fmt.Errorf("%d changes, not %d: %.500q", lines, changes, text)
			}
			return v, firstOf(err, os.Remove(p.out))
		}}
}
