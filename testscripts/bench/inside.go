package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// The places whose insides are compared.
const (
	onHost  = "the host's filesystem"
	onPlain = "ext4 in a plain image file by loop"
	inMount = ours
)

// place is a directory to work in.
type place struct {
	host
	name  string
	store *store // of the mount; nil elsewhere
}

func (p place) path(name string) string { return filepath.Join(p.dir, name) }

// inside measures work in the mount, beside the host itself and a plain image.
func (b *bench) inside(ctx context.Context, t *tree) error {
	if !b.wanted("untar", "status", "warm", "cold", "random", "sealed", "append", "sequential") {
		return nil
	}
	places, err := b.newPlaces(ctx)
	if err != nil {
		return err
	}
	archive := filepath.Join(b.dir, "tree.tar")
	b.undo.push(archive, func() error { return os.RemoveAll(archive) })
	if err := (program{args: []string{"tar", "cf", archive, "-C", t.dir, "."}}).run(ctx); err != nil {
		return err
	}
	if err := b.unpacked(ctx, places, archive, t); err != nil {
		return err
	}
	return b.writing(ctx, places)
}

func (b *bench) newPlaces(ctx context.Context) ([]place, error) {
	s, err := b.newStore(ctx, "inside", b.dir)
	if err != nil {
		return nil, err
	}
	plain, err := b.newHost(ctx, "plain", "ext4")
	if err != nil {
		return nil, err
	}
	here := filepath.Join(b.dir, "on-host")
	b.undo.push(here, func() error { return os.RemoveAll(here) })
	places := []place{{host{dir: s.mount}, inMount, s}, {host{dir: here}, onHost, nil}, {plain, onPlain, nil}}
	return places, os.Mkdir(here, 0o755)
}

// everywhere makes a candidate in each place.
func everywhere(s subject, places []place, make func(place) candidate) subject {
	s.bases = []string{onHost, onPlain}
	for _, p := range places {
		c := make(p)
		c.name = p.name
		s.candidates = append(s.candidates, p.on(c))
	}
	return s
}

// unpacked: a tree is unpacked, looked at by git and read.
func (b *bench) unpacked(ctx context.Context, places []place, archive string, t *tree) error {
	subjects := []subject{
		everywhere(subject{key: "untar", title: "Untar: " + t.title, unit: inSeconds}, places, func(p place) candidate { return untar(p, archive) }),
		everywhere(subject{key: "status", title: "git status", unit: inSeconds}, places, func(p place) candidate {
			return candidate{measure: timedRun(program{dir: p.path("tree"), args: []string{"git", "status", "--porcelain"}})}
		}),
		everywhere(subject{key: "warm", title: "Read all, warm", unit: inSeconds}, places, func(p place) candidate {
			return candidate{measure: reading(p)}
		}),
		everywhere(subject{key: "cold", title: "Read all, cold", unit: inSeconds}, places, func(p place) candidate {
			return candidate{dirty: func(context.Context, int) error { return dropCaches() }, measure: reading(p)}
		}),
	}
	if !b.wanted("untar") && b.wanted("status", "warm", "cold") {
		if err := unpackOnce(ctx, places, archive); err != nil {
			return err
		}
	}
	for _, s := range subjects {
		if err := b.race(ctx, s); err != nil {
			return err
		}
	}
	return removeTrees(places)
}

// untar ends with the tree on the disk: without that, it measures memory. It
// begins with caches dropped, but for the archive: ext4 searches long for an inode
// that was not deleted a minute ago, unless it has forgotten which were.
func untar(p place, archive string) candidate {
	return candidate{
		reset: func(context.Context, int) error {
			return firstOf(os.RemoveAll(p.path("tree")), os.Mkdir(p.path("tree"), 0o755))
		},
		dirty: func(ctx context.Context, _ int) error {
			if err := dropCaches(); err != nil {
				return err
			}
			return sh(p.dir, "tar cf /dev/null tree; cat "+archive+" >/dev/null").run(ctx)
		},
		measure: timedRun(sh(p.dir, fmt.Sprintf("tar xf %s -C tree; sync -f tree", archive))),
	}
}

func unpackOnce(ctx context.Context, places []place, archive string) error {
	for _, p := range places {
		if p.absent != "" {
			continue
		}
		if err := sh(p.dir, "mkdir tree; tar xf "+archive+" -C tree").run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func reading(p place) sample {
	return timed(func(ctx context.Context, _ int) error { return readAll(ctx, p.path("tree")) })
}

func removeTrees(places []place) error {
	for _, p := range places {
		if p.absent != "" {
			continue
		}
		if err := os.RemoveAll(p.path("tree")); err != nil {
			return err
		}
	}
	return nil
}
