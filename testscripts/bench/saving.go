package main

import (
	"context"
	"os"
	"path/filepath"
)

// world holds a tree in all the places that can save it.
type world struct {
	*tree
	store  *store // mounted
	plain  host   // ext4 in an image file: only to compare mounting with
	xfs    host
	btrfs  host
	shadow shadow
}

// saving measures checkpoint, restore, close and open with one tree.
func (b *bench) saving(ctx context.Context, t *tree) error {
	if !b.wanted("checkpoint-"+t.key, "restore-"+t.key, "close-"+t.key, "open-"+t.key) {
		return nil
	}
	w, err := b.newWorld(ctx, t)
	if err != nil {
		return err
	}
	for _, s := range []subject{b.checkpointing(w), b.restoring(w), b.closing(w), b.opening(w)} {
		if err := b.race(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) newWorld(ctx context.Context, t *tree) (*world, error) {
	b.say("copying %s to where it is saved from", t.title)
	w := &world{tree: t}
	var err error
	if w.store, err = b.newStore(ctx, "store-"+t.key, b.dir); err != nil {
		return nil, err
	}
	if err := copyIn(ctx, t.dir, w.store.mount); err != nil {
		return nil, err
	}
	if err := w.store.do("checkpoint", "create", "first").run(ctx); err != nil {
		return nil, err
	}
	w.shadow = shadow{work: filepath.Join(b.dir, "shadowed-"+t.key), git: filepath.Join(b.dir, "shadow-"+t.key)}
	b.undo.push(w.shadow.work, func() error { return os.RemoveAll(w.shadow.work) })
	b.undo.push(w.shadow.git, func() error { return os.RemoveAll(w.shadow.git) })
	if err := firstOf(copyIn(ctx, t.dir, w.shadow.work), w.shadow.begin(ctx)); err != nil {
		return nil, err
	}
	return w, b.newHosts(ctx, w)
}

func (b *bench) newHosts(ctx context.Context, w *world) (err error) {
	if w.plain, err = b.newHost(ctx, "plain-"+w.key, "ext4"); err != nil {
		return err
	}
	if w.xfs, err = b.newHost(ctx, "xfs-"+w.key, "xfs"); err != nil {
		return err
	}
	if w.btrfs, err = b.newHost(ctx, "btrfs-"+w.key, "btrfs"); err != nil {
		return err
	}
	if w.btrfs.absent == "" {
		if err := sh(w.btrfs.dir, "btrfs subvolume create live >/dev/null").run(ctx); err != nil {
			return err
		}
	}
	for _, h := range []host{w.plain, w.xfs, w.btrfs} {
		if h.absent != "" {
			continue
		}
		if err := copyIn(ctx, w.tree.dir, filepath.Join(h.dir, "live")); err != nil {
			return err
		}
	}
	return nil
}

// shadow is a git directory beside the work tree, as some agents keep one.
type shadow struct{ work, git string }

func (s shadow) do(script string) program {
	return program{dir: s.work, env: []string{"GIT_DIR=" + s.git, "GIT_WORK_TREE=" + s.work}, args: []string{"sh", "-ec", script}}
}

const commit = "git add -A; git commit -q --allow-empty -m x"

// begin makes the first commit.
func (s shadow) begin(ctx context.Context) error {
	if err := s.empty(ctx); err != nil {
		return err
	}
	return s.do(commit).run(ctx)
}

// empty makes an empty git directory that never tidies up by itself.
func (s shadow) empty(ctx context.Context) error {
	if err := os.RemoveAll(s.git); err != nil {
		return err
	}
	return s.do("git init -q; git config gc.auto 0; git config maintenance.auto false").run(ctx)
}
