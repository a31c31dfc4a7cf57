package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Candidates that the figures to reach speak of.
const (
	oursChanged   = ours + ", one line changed"
	oursUnchanged = ours + ", nothing changed"
	oursNamed     = ours + ", one line changed, --store"
	oursAgain     = ours + ", right after another one"
	btrfsSnapshot = "btrfs subvolume snapshot"
	xfsCopy       = "cp -a --reflink=always on XFS"
)

// checkpointing: one line is added to one file, and the tree saved.
func (b *bench) checkpointing(w *world) subject {
	edit := func(dir string) step {
		return func(_ context.Context, n int) error { return w.edit(dir, n) }
	}
	again := func(ctx context.Context, n int) error {
		return firstOf(w.store.do("checkpoint", "create", "before").run(ctx), w.edit(w.store.mount, n))
	}
	create := []string{"checkpoint", "create", "bench"}
	here := w.store.agentfs(w.store.mount, create...)
	return subject{
		key: "checkpoint-" + w.key, title: "Checkpoint: " + w.title, unit: inSeconds, bases: []string{oursChanged},
		candidates: []candidate{
			{name: oursChanged, dirty: edit(w.store.mount), measure: timedRun(here)},
			{name: oursUnchanged, measure: timedRun(here)},
			{name: oursNamed, dirty: edit(w.store.mount), measure: timedRun(w.store.do(create...))},
			{name: oursAgain, dirty: again, measure: timedRun(here)},
			w.btrfs.on(b.snapshot(w, edit, btrfsSnapshot, "")),
			w.btrfs.on(b.snapshot(w, edit, btrfsSnapshot+" and sync", "; btrfs filesystem sync .")),
			w.xfs.on(reflinkCopy(w, edit)),
			{name: "git in a shadow directory", dirty: edit(w.shadow.work), measure: timedRun(w.shadow.do(commit))},
			firstCommit(w),
		},
	}
}

func (b *bench) snapshot(w *world, edit func(string) step, name, then string) candidate {
	slug := strconv.Itoa(len(then))
	return candidate{name: name, dirty: edit(filepath.Join(w.btrfs.dir, "live")),
		measure: timed(func(ctx context.Context, n int) error {
			if then == "" { // bare: not even a shell
				return program{dir: w.btrfs.dir, args: []string{"btrfs", "subvolume", "snapshot", "live", fmt.Sprint("saved-", n)}}.run(ctx)
			}
			return sh(w.btrfs.dir, fmt.Sprintf("btrfs subvolume snapshot live saved-%s-%d%s", slug, n, then)).run(ctx)
		})}
}

func reflinkCopy(w *world, edit func(string) step) candidate {
	saved := filepath.Join(w.xfs.dir, "saved")
	return candidate{
		name:    xfsCopy,
		reset:   func(context.Context, int) error { return os.RemoveAll(saved) },
		dirty:   edit(filepath.Join(w.xfs.dir, "live")),
		measure: timedRun(program{dir: w.xfs.dir, args: []string{"cp", "-a", "--reflink=always", "live", "saved"}}),
	}
}

// firstCommit is what git takes before its checkpoints become cheap.
func firstCommit(w *world) candidate {
	s := shadow{work: w.shadow.work, git: w.shadow.git + "-first"}
	return candidate{
		name:    "git in a shadow directory, first commit",
		reset:   func(ctx context.Context, _ int) error { return s.empty(ctx) },
		measure: timedRun(s.do(commit)),
	}
}
