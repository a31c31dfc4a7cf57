package damage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/sums"
	"agentfs.internal/tool/record"
)

// Search looks for damage in some trees.
type Search struct {
	Trees []*Tree           // to be verified
	Known []*Tree           // others, where what is damaged may be sound
	More  func() []*Tree    // gives others, when they are needed; may be nil
	Live  *Tree             // the live bands, among Known; nil: not asked for
	Quick bool              // bands are read only of a tree whose names or lengths are wrong
	Read  func(bytes int64) // told of each band that has been read; may be nil

	contents map[fileID]*content
	found    []finding
	more     []*Tree         // what More has given
	lost     map[fileID]kept // the damaged files that a repair has kept
}

type fileID struct{ dev, ino uint64 }

// content is what one file holds, however many names it has.
type content struct {
	tree *Tree
	file
	sum sums.Sum
	got int64 // bytes that could be read
	err error
}

// finding is a damage and the sum that the band should have.
type finding struct {
	record.Damage
	tree *Tree
	num  uint64
	want *sums.Sum // nil: not known
}

// Bytes is how much is to be read.
func (s *Search) Bytes() (n int64) {
	for _, c := range s.plan() {
		n += c.size
	}
	return n
}

// Run finds the damage, by tree and band.
func (s *Search) Run(ctx context.Context) ([]record.Damage, error) {
	for _, t := range s.Trees {
		s.names(t)
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	for _, t := range s.Trees {
		s.recover(t)
		s.againstList(t)
		s.compare(t)
	}
	s.live()
	if err := s.sound(ctx); err != nil {
		return nil, err
	}
	order := map[string]int{}
	for i, t := range append(slices.Clone(s.Trees), s.Known...) {
		order[t.Path] = i
	}
	slices.SortStableFunc(s.found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(order[a.Dir], order[b.Dir]), cmp.Compare(a.num, b.num))
	})
	list := make([]record.Damage, len(s.found))
	for i, f := range s.found {
		list[i] = f.Damage
	}
	return list, nil
}

func (s *Search) add(t *Tree, name, kind, why string) {
	num, _ := bands.Number([]byte(name))
	f := finding{Damage: record.Damage{Dir: t.Path, Name: name, Kind: kind, Why: why}, tree: t, num: num}
	if sum, ok := t.list[num]; ok && name == bands.Name(num) && kind != record.DamageForeign {
		f.want, f.Sum = &sum, sum.String()
	}
	s.found = append(s.found, f)
}

// names compares the names that are there with those that should be.
func (s *Search) names(t *Tree) {
	s.notes(t)
	for _, name := range t.foreign {
		s.add(t, name, record.DamageForeign, "")
	}
	if t.Unsummed() && t.note != nil && t.note.Bands != int64(len(t.files)) {
		s.add(t, record.SumsFile, record.DamageMissing,
			fmt.Sprintf("made with %d bands, %d are there, and it was not summed: which ones cannot be told", t.note.Bands, len(t.files)))
	}
}

// notes looks at the files that tell of the bands.
func (s *Search) notes(t *Tree) {
	switch {
	case errors.Is(t.listErr, sums.ErrDamaged):
		s.add(t, record.SumsFile, record.DamageChanged, "")
	case t.listErr != nil && !t.Unsummed():
		s.add(t, record.SumsFile, record.DamageUnreadable, t.listErr.Error())
	}
	switch {
	case errors.Is(t.noteErr, fs.ErrNotExist):
		if s.othersHaveNote(t) {
			s.add(t, record.CheckpointFile, record.DamageMissing, "")
		}
	case errors.Is(t.noteErr, ErrNote):
		s.add(t, record.CheckpointFile, record.DamageChanged, "")
	case t.noteErr != nil:
		s.add(t, record.CheckpointFile, record.DamageUnreadable, t.noteErr.Error())
	case t.version() != 0 && uint64(t.note.Version) != t.version():
		s.add(t, record.CheckpointFile, record.DamageExchanged, fmt.Sprintf("it tells of v%d", t.note.Version))
	}
}

// othersHaveNote tells whether a checkpoint that was made before has a record.json.
func (s *Search) othersHaveNote(t *Tree) bool {
	return slices.ContainsFunc(slices.Concat(s.Trees, s.Known), func(o *Tree) bool {
		return o.note != nil && o.version() < t.version()
	})
}

// againstList finds bands that are missing and those that are too many.
func (s *Search) againstList(t *Tree) {
	if !t.summed() {
		return
	}
	for num := range t.list {
		if _, ok := t.find(num); !ok {
			s.add(t, bands.Name(num), record.DamageMissing, "")
		}
	}
	for _, f := range t.files {
		if _, ok := t.list[f.num]; !ok {
			s.add(t, bands.Name(f.num), record.DamageForeign, "the checkpoint was made without this band")
		}
	}
}

// suspect tells whether the names or lengths are not those that the checkpoint was made
// with.
func (t *Tree) suspect() bool {
	return len(t.foreign) > 0 || t.listErr != nil && !t.Unsummed() ||
		t.summed() && len(t.list) != len(t.files) ||
		t.note != nil && (t.note.Bands != int64(len(t.files)) || t.note.Bytes != t.size)
}

// plan gives each file that is to be read, once.
func (s *Search) plan() []*content {
	seen := map[fileID]bool{}
	var list []*content
	for _, t := range s.Trees {
		if s.Quick && !t.suspect() {
			continue
		}
		for _, f := range t.files {
			if id := (fileID{t.dev, f.ino}); !seen[id] {
				seen[id] = true
				list = append(list, &content{tree: t, file: f})
			}
		}
	}
	return list
}

// read reads all bands.
func (s *Search) read(ctx context.Context) error {
	s.contents = map[fileID]*content{}
	list := s.plan()
	for _, c := range list {
		s.contents[fileID{c.tree.dev, c.ino}] = c
	}
	return sums.Parallel(ctx, len(list), false, func(ctx context.Context, i int) error {
		list[i].read(ctx)
		if s.Read != nil {
			s.Read(list[i].size)
		}
		return context.Cause(ctx)
	})
}

func (c *content) read(ctx context.Context) {
	c.sum, c.got, c.err = sums.Of(ctx, c.tree.dir, bands.Name(c.num))
}

// compare compares what was read with the sums.
func (s *Search) compare(t *Tree) {
	for _, f := range t.files {
		c := s.contents[fileID{t.dev, f.ino}]
		want, known := t.list[f.num]
		switch {
		case c == nil:
		case errors.Is(c.err, fs.ErrNotExist): // deleted meanwhile, with its checkpoint
		case c.err != nil:
			s.add(t, bands.Name(f.num), record.DamageUnreadable, c.err.Error())
		case known && want != c.sum && t.summed():
			s.mismatch(t, f, c)
		case !t.summed() && t.note != nil && t.note.Bytes > t.size && f.size < t.longest:
			s.add(t, bands.Name(f.num), record.DamageShort, "the checkpoint has lost bytes, and this band is shorter than others")
		}
	}
}

// mismatch adds a band whose content is another than it should be.
func (s *Search) mismatch(t *Tree, f file, c *content) {
	name := bands.Name(f.num)
	if whose := s.owner(t, f.num, c.sum); whose != "" {
		s.add(t, name, record.DamageExchanged, "it holds "+whose)
		return
	}
	if f.size < t.longest && (t.note == nil || t.size < t.note.Bytes) { // until a sound copy tells
		s.add(t, name, record.DamageShort, "")
		return
	}
	s.add(t, name, record.DamageChanged, "")
}

// owner tells whose content it is that a band wrongly has: that of another band of the
// tree, or of this one in another tree.
func (s *Search) owner(t *Tree, num uint64, sum sums.Sum) string {
	for other, has := range t.list {
		if has == sum && other != num {
			return "band " + bands.Name(other)
		}
	}
	for _, o := range slices.Concat(s.Trees, s.Known) {
		if has, ok := o.list[num]; ok && has == sum && o != t {
			return "that of " + o.Path
		}
	}
	return ""
}
