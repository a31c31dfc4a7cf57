package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// forking makes a second directory to work in, beside what git offers for that. It
// is ready when the command ends.
func (b *bench) forking(d *desk) subject {
	second := &store{name: "second", home: d.store.home, mount: filepath.Join(b.dir, "second")}
	b.undo.push("store second", second.remove)
	worktree := filepath.Join(b.dir, "worktree")
	b.undo.push(worktree, func() error { return os.RemoveAll(worktree) })
	return subject{
		key: "fork", title: "Fork: " + d.title, unit: inSeconds, bases: []string{ours},
		candidates: []candidate{
			d.ready(second.mount, candidate{name: ours,
				reset:   func(context.Context, int) error { return second.remove() },
				measure: timedRun(d.store.do("fork", "v1", second.name, "--mount", second.mount))}),
			d.ready(worktree, candidate{name: "git worktree add on the host's filesystem",
				reset: func(ctx context.Context, _ int) error {
					return firstOf(os.RemoveAll(worktree), sh(d.beside, "git worktree prune").run(ctx))
				},
				measure: timedRun(program{dir: d.beside, args: []string{"git", "worktree", "add", "-q", "--detach", worktree}})}),
		},
	}
}

// ready holds a candidate to it that the tree is there afterwards.
func (t *tree) ready(dir string, c candidate) candidate {
	work := c.measure
	c.measure = func(ctx context.Context, n int) (float64, error) {
		v, err := work(ctx, n)
		_, first := os.Stat(filepath.Join(dir, t.files[0]))
		_, last := os.Stat(filepath.Join(dir, t.files[len(t.files)-1]))
		return v, firstOf(err, errors.Join(first, last))
	}
	return c
}
