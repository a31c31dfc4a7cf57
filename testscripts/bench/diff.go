package main

import "context"

const gitStatus = "git status in the same mount"

// diffing lists the changes: git by what its index remembers of each file, agentfs
// by the inodes of two images. Each is timed with the caches as the other finds them.
func (b *bench) diffing(d *desk) subject {
	return subject{
		key: "diff-warm", title: "Diff: " + d.title, unit: inSeconds, bases: []string{ours},
		candidates: []candidate{
			d.listing(ours, d.store.do("diff", "v1")),
			d.listing(gitStatus, d.gitStatus()),
		},
	}
}

// diffingCold does the same from the disk.
func (b *bench) diffingCold(d *desk) subject {
	s := b.diffing(d)
	s.key, s.title = "diff-cold", s.title+", caches dropped"
	for i := range s.candidates {
		s.candidates[i].dirty = func(ctx context.Context, n int) error {
			return firstOf(d.work(ctx, n), dropCaches())
		}
	}
	return s
}
