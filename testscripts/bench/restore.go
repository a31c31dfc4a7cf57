package main

import (
	"context"
	"path/filepath"
)

// restoring: a directory was deleted and a line added; all is brought back. The
// inodes of the whole tree are in the kernel's cache, as where somebody works.
func (b *bench) restoring(w *world) subject {
	return subject{
		key: "restore-" + w.key, title: "Restore: " + w.title, unit: inSeconds, bases: []string{ours},
		candidates: []candidate{
			w.accident(candidate{name: ours, measure: timedRun(w.store.do("restore", "v1", "-f"))}, w.store.mount),
			w.btrfs.on(w.replacing()),
			w.xfs.on(w.copyingBack()),
			w.accident(candidate{name: "git in a shadow directory", measure: timedRun(w.shadow.do("git reset -q --hard; git clean -qfdx"))}, w.shadow.work),
		},
	}
}

// accident happens before each run; after it the tree must be whole again.
func (w *world) accident(c candidate, live string) candidate {
	c.reset = func(_ context.Context, _ int) error {
		if err := look(live); err != nil {
			return err
		}
		return w.harm(live)
	}
	c.dirty = func(_ context.Context, n int) error { return w.edit(live, n) }
	work := c.measure
	c.measure = func(ctx context.Context, n int) (float64, error) {
		v, err := work(ctx, n)
		return v, firstOf(err, w.healed(live))
	}
	return c
}

// replacing: a snapshot takes the subvolume's place.
func (w *world) replacing() candidate {
	c := w.accident(candidate{
		name:    "btrfs: subvolume replaced by a snapshot",
		measure: timedRun(sh(w.btrfs.dir, "btrfs subvolume delete live; btrfs subvolume snapshot kept live")),
	}, filepath.Join(w.btrfs.dir, "live"))
	return keepFirst(c, sh(w.btrfs.dir, "[ -e kept ] || btrfs subvolume snapshot live kept"))
}

func (w *world) copyingBack() candidate {
	c := w.accident(candidate{
		name:    "rm -rf, and " + xfsCopy,
		measure: timedRun(sh(w.xfs.dir, "rm -rf live; cp -a --reflink=always kept live")),
	}, filepath.Join(w.xfs.dir, "live"))
	return keepFirst(c, sh(w.xfs.dir, "[ -e kept ] || cp -a --reflink=always live kept"))
}

// keepFirst saves the tree before its first accident.
func keepFirst(c candidate, keep program) candidate {
	accident := c.reset
	c.reset = func(ctx context.Context, n int) error {
		if err := keep.run(ctx); err != nil {
			return err
		}
		return accident(ctx, n)
	}
	return c
}
