package trees

import (
	"slices"

	"agentfs.internal/treediff/internal/dir"
)

// Linked is a name of a file that has more than one name in one of the trees at
// least. A side on which the name is not there, or is a directory, is zero.
type Linked struct {
	Path string
	A, B dir.Info
}

// Groups gives, for each inode of one side, the places in linked of its names.
func Groups(linked []Linked, side func(*Linked) *dir.Info) map[uint64][]int {
	groups := map[uint64][]int{}
	for i := range linked {
		if info := side(&linked[i]); info.There() {
			groups[info.Ino] = append(groups[info.Ino], i)
		}
	}
	return groups
}

// InA and InB are the sides for Groups.
func InA(l *Linked) *dir.Info { return &l.A }
func InB(l *Linked) *dir.Info { return &l.B }

// regroup finds the names whose file has other names in A than in B.
func (f *Found) regroup() {
	inA, inB := Groups(f.Linked, InA), Groups(f.Linked, InB)
	var fresh []Difference
	for i := range f.Linked {
		l := &f.Linked[i]
		if !l.A.There() || l.A.Type() != l.B.Type() || slices.Equal(inA[l.A.Ino], inB[l.B.Ino]) {
			continue
		}
		if d := f.At(l.Path); d != nil {
			d.What |= Links
		} else {
			fresh = append(fresh, Difference{Path: l.Path, Kind: Metadata, What: Links, A: l.A, B: l.B})
		}
	}
	if len(fresh) > 0 {
		f.Differences = append(f.Differences, fresh...)
		slices.SortFunc(f.Differences, func(x, y Difference) int { return ComparePaths(x.Path, y.Path) })
	}
}

// At gives the difference of a path, nil if there is none.
func (f *Found) At(path string) *Difference {
	i, ok := slices.BinarySearchFunc(f.Differences, path, func(d Difference, path string) int {
		return ComparePaths(d.Path, path)
	})
	if !ok {
		return nil
	}
	return &f.Differences[i]
}
