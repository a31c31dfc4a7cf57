package damage

import (
	"context"
	"fmt"
	"slices"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/sums"
	"agentfs.internal/tool/record"
)

// sound looks for files with the content that damaged bands should have. What it names
// has been read.
func (s *Search) sound(ctx context.Context) error {
	bySum := map[sums.Sum]*content{}
	for _, c := range s.contents {
		if c.err == nil {
			bySum[c.sum] = c
		}
	}
	for i := range s.found {
		f := &s.found[i]
		if f.want == nil {
			continue
		}
		c, ok := bySum[*f.want]
		if !ok {
			c = s.elsewhere(ctx, f)
			bySum[*f.want] = c
		}
		if c != nil {
			f.found(c)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// found notes a sound copy, which also tells whether the damaged one is shorter.
func (f *finding) found(c *content) {
	f.Sound = c.tree.dir.Path(bands.Name(c.num))
	if f.Kind != record.DamageShort && f.Kind != record.DamageChanged {
		return
	}
	f.Kind = record.DamageChanged
	if has, ok := f.tree.find(f.num); ok && has.size < c.got {
		f.Kind, f.Why = record.DamageShort, fmt.Sprintf("%d bytes of %d", has.size, c.got)
	}
}

// elsewhere looks for the content in bands that have not been read yet: those of the
// same sum or, where there are no sums, of the same number.
func (s *Search) elsewhere(ctx context.Context, f *finding) *content {
	if got := s.among(ctx, f, slices.Concat(s.Known, s.Trees)); got != nil || s.More == nil {
		return got
	}
	if s.more == nil {
		s.more = append([]*Tree{}, s.More()...)
	}
	return s.among(ctx, f, s.more)
}

func (s *Search) among(ctx context.Context, f *finding, trees []*Tree) *content {
	for _, t := range trees {
		for _, c := range t.candidates(f) {
			id := fileID{t.dev, c.ino}
			if s.contents[id] == nil {
				read := &content{tree: t, file: c}
				read.read(ctx)
				s.contents[id] = read
			}
			if got := s.contents[id]; got.err == nil && got.sum == *f.want {
				return got
			}
		}
	}
	return nil
}

// candidates gives the bands of a tree that may have the content.
func (t *Tree) candidates(f *finding) []file {
	if len(t.list) == 0 {
		if c, ok := t.find(f.num); ok {
			return []file{c}
		}
		return nil
	}
	var list []file
	for num, sum := range t.list {
		if c, ok := t.find(num); ok && sum == *f.want {
			list = append(list, c)
		}
	}
	return list
}
