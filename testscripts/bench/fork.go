package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// forking makes a second directory to work in, beside what git has for that. It is
// ready when the command ends.
func (b *bench) forking(d *desk) subject {
	second := &store{name: "second", home: d.store.home, mount: filepath.Join(b.dir, "second")}
	b.undo.push("store second", second.remove)
	fork := candidate{name: ours,
		reset:   func(ctx context.Context, n int) error { return firstOf(second.remove(), d.asSaved(ctx, n)) },
		measure: timedRun(d.store.do("fork", "v1", second.name, "--mount", second.mount))}
	worktree := filepath.Join(b.dir, "worktree")
	b.undo.push(worktree, func() error { return os.RemoveAll(worktree) })
	return subject{
		key: "fork", title: "Fork: " + d.title, unit: inSeconds, bases: []string{ours},
		candidates: []candidate{d.ready(fork, second.mount), d.ready(d.addingWorktree(worktree), worktree)},
	}
}

// addingWorktree begins with caches dropped, but for what git reads: see untar.
func (d *desk) addingWorktree(dir string) candidate {
	return candidate{name: "git worktree add on the host's filesystem",
		reset: func(context.Context, int) error { return os.RemoveAll(dir) },
		dirty: func(ctx context.Context, _ int) error {
			return firstOf(dropCaches(), sh(d.beside, "git worktree prune; cat .git/objects/pack/* >/dev/null").run(ctx))
		},
		measure: timedRun(program{dir: d.beside, args: []string{"git", "worktree", "add", "-q", "--detach", dir}})}
}

// ready holds a candidate to it that the tree is there afterwards.
func (t *tree) ready(c candidate, dir string) candidate {
	work := c.measure
	c.measure = func(ctx context.Context, n int) (float64, error) {
		v, err := work(ctx, n)
		_, first := os.Stat(filepath.Join(dir, t.files[0]))
		_, last := os.Stat(filepath.Join(dir, t.files[len(t.files)-1]))
		return v, firstOf(err, errors.Join(first, last))
	}
	return c
}
