package main

import (
	"context"
	"syscall"
)

// space measures what a checkpoint costs on the disk. The store has a filesystem
// of its own, whose free blocks nobody else changes.
func (b *bench) space(ctx context.Context, t *tree) error {
	for _, fstype := range []string{"ext4", "xfs"} {
		if !b.wanted("space-" + fstype) {
			continue
		}
		err := b.scoped(ctx, func(ctx context.Context) error { return b.spaceOn(ctx, t, fstype) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) spaceOn(ctx context.Context, t *tree, fstype string) error {
	h, err := b.newHost(ctx, "space-"+fstype, fstype)
	if err != nil {
		return err
	}
	c := candidate{name: ours}
	if h.absent == "" {
		b.say("copying %s into a store on %s", t.title, fstype)
		s, err := b.newStore(ctx, "tree", h.dir)
		if err != nil {
			return err
		}
		if err := copyIn(ctx, t.dir, s.mount); err != nil {
			return err
		}
		c.measure = func(ctx context.Context, n int) (float64, error) { return taken(ctx, t, s, h.dir, n) }
	}
	return b.race(ctx, subject{key: "space-" + fstype, title: "Space, " + fstype, unit: inBytes, candidates: []candidate{h.on(c)}})
}

// taken is what a checkpoint and the edit after it take: the edit's writes are
// what makes bands differ from those of the checkpoint.
func taken(ctx context.Context, t *tree, s *store, dir string, n int) (float64, error) {
	before, err := used(dir)
	if err != nil {
		return 0, err
	}
	if err := s.do("checkpoint", "create", "bench").run(ctx); err != nil {
		return 0, err
	}
	if err := t.edit(s.mount, n); err != nil {
		return 0, err
	}
	settle()
	after, err := used(dir)
	return after - before, err
}

// used bytes of a filesystem.
func used(dir string) (float64, error) {
	var st syscall.Statfs_t
	err := syscall.Statfs(dir, &st)
	return float64(st.Blocks-st.Bfree) * float64(st.Bsize), err
}
