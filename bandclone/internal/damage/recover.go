package damage

import (
	"errors"
	"slices"
	"strings"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/sums"
	"agentfs.internal/tool/record"
)

// recover makes a damaged list of sums what it was, from its own lines, from what other
// checkpoints know of the same files, and from what the bands hold: its last line tells
// whether that is right. If it is not, bands whose line does not fit may be damaged, too,
// and that is said.
func (s *Search) recover(t *Tree) {
	if !errors.Is(t.listErr, sums.ErrDamaged) {
		return
	}
	list, doubtful := sums.List{}, []doubt{}
	for _, num := range t.numbers() {
		line := t.list[num]
		sum, sure := s.knownElsewhere(t, num)
		c := s.contentOf(t, num)
		switch {
		case sure:
			list[num] = sum
		case c == nil || c.err != nil || c.sum == line:
			list[num] = line
		default:
			doubtful = append(doubtful, doubt{num, line, c.sum})
		}
	}
	if sealedWith(t, list, doubtful) {
		t.list, t.recovered = list, true
		return
	}
	var names []string
	for _, d := range doubtful {
		names = append(names, bands.Name(d.num))
	}
	for i := range s.found {
		if f := &s.found[i]; f.tree == t && f.Name == record.SumsFile && len(names) > 0 {
			f.Why = "these bands may be damaged, too: " + strings.Join(names, " ")
		}
	}
}

// doubt is a band whose line does not fit: either is damaged.
type doubt struct {
	num          uint64
	line, actual sums.Sum
}

// mostDoubts is of how many bands all combinations are tried.
const mostDoubts = 10

// sealedWith completes a list, with which it is what was written.
func sealedWith(t *Tree, list sums.List, doubtful []doubt) bool {
	if len(doubtful) > mostDoubts {
		return false
	}
	for mask := range 1 << len(doubtful) {
		for i, d := range doubtful {
			list[d.num] = d.actual
			if mask&(1<<i) != 0 {
				list[d.num] = d.line
			}
		}
		if sums.Sealed(t.dir, list) {
			return true
		}
	}
	return false
}

// numbers gives those of the bands that the list should have: of its lines, unless some
// are lost.
func (t *Tree) numbers() []uint64 {
	var list []uint64
	if t.note != nil && t.note.Bands == int64(len(t.list)) {
		for num := range t.list {
			list = append(list, num)
		}
		return list
	}
	for _, f := range t.files {
		list = append(list, f.num)
	}
	return list
}

func (s *Search) contentOf(t *Tree, num uint64) *content {
	f, ok := t.find(num)
	if !ok {
		return nil
	}
	return s.contents[fileID{t.dev, f.ino}]
}

// knownElsewhere gives the sum that another checkpoint has for the same file.
func (s *Search) knownElsewhere(t *Tree, num uint64) (sum sums.Sum, ok bool) {
	f, there := t.find(num)
	for _, o := range slices.Concat(s.Trees, s.Known) {
		same, has := o.find(num)
		if there && has && o != t && o.listErr == nil && o.dev == t.dev && same.ino == f.ino {
			if sum, ok = o.list[num]; ok {
				return sum, true
			}
		}
	}
	return sum, false
}
