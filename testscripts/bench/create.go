package main

import (
	"context"
	"os"
	"path/filepath"
)

// creating: init, beside the same done by hand.
func (b *bench) creating(ctx context.Context) error {
	s := &store{name: "fresh", home: filepath.Join(b.dir, "home"), mount: filepath.Join(b.dir, "fresh")}
	image, dir := filepath.Join(b.dir, "fresh.img"), filepath.Join(b.dir, "fresh-plain")
	b.undo.push("store fresh", s.remove)
	b.undo.push(image, func() error { return dropPlain(image, dir) })
	byHand := sh(b.dir, "truncate -s 50G fresh.img; mkfs.ext4 -q -F fresh.img; mkdir fresh-plain; mount -o loop fresh.img fresh-plain")
	return b.race(ctx, subject{
		key: "init", title: "Init", unit: inSeconds, bases: []string{ours},
		candidates: []candidate{
			{name: ours, reset: func(context.Context, int) error { return s.remove() },
				measure: timedRun(s.agentfs(b.dir, "init", s.name, "--mount", s.mount))},
			{name: "truncate, mkfs.ext4, mount by loop", reset: func(context.Context, int) error { return dropPlain(image, dir) },
				measure: timedRun(byHand)},
		},
	})
}

// dropPlain takes down what was made by hand.
func dropPlain(image, dir string) error {
	if err := unmount(dir); err != nil {
		return err
	}
	return firstOf(os.RemoveAll(dir), os.RemoveAll(image))
}
