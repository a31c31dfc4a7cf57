package trees

import (
	"errors"
	"slices"
	"strings"

	"agentfs.internal/treediff/internal/dir"
)

// visit is a directory while it is walked, on both sides; nil is a side on which
// it is not there.
type visit struct {
	*walk
	path  string
	a, b  *dir.Dir
	below []job
	found Found
}

func (v *visit) close() {
	v.a.Close()
	v.b.Close()
}

// directory compares a directory and its entries.
func (v *visit) directory(j job) error {
	if err := v.open(&j); errors.Is(err, errMount) {
		v.found.Mounts = append(v.found.Mounts, j.path)
		return nil
	} else if err != nil {
		return err
	}
	if !j.told {
		if err := v.self(&j); err != nil {
			return err
		}
	}
	if v.sure(&j.a, &j.b) {
		return v.unchangedEntries(j)
	}
	inA, err := entries(v.a)
	if err != nil {
		return err
	}
	inB, err := entries(v.b)
	if err != nil {
		return err
	}
	return v.entries(inA, inB)
}

// open opens both sides. One that is gone meanwhile is not there.
func (v *visit) open(j *job) error {
	var err error
	if v.b, err = below(v.B, j.path, &j.b); err != nil {
		return err
	}
	if v.sure(&j.a, &j.b) {
		return nil // A's side is needed only where something in it has changed
	}
	v.a, err = below(v.A, j.path, &j.a)
	return err
}

func below(root *dir.Dir, path string, info *dir.Info) (*dir.Dir, error) {
	if !info.There() {
		return nil, nil
	}
	d, err := root.Below(path)
	switch {
	case dir.IsMount(err):
		return nil, errMount
	case dir.Gone(err):
		*info = dir.Info{}
		return nil, nil
	}
	return d, err
}

// self compares the directory itself.
func (v *visit) self(j *job) error {
	d := Difference{Path: j.path, A: j.a, B: j.b}
	if v.a != nil && v.b != nil {
		d.What = v.metadata(&d.A, &d.B)
		if !v.unchanged(&d.A, &d.B) {
			same, err := sameXattrs(v.a, v.b, "")
			if err != nil {
				return err
			}
			if !same {
				d.What |= Xattrs
			}
		}
	}
	v.differ(d)
	return nil
}

// differ notes a difference if it is one.
func (v *visit) differ(d Difference) {
	switch {
	case !d.A.There() && !d.B.There():
		return
	case !d.A.There():
		d.Kind = Added
	case !d.B.There():
		d.Kind = Deleted
	case d.A.Type() != d.B.Type():
		d.Kind = Type
	case d.What&substance != 0:
		d.Kind = Modified
	case d.What != 0:
		d.Kind = Metadata
	default:
		return
	}
	v.found.Differences = append(v.found.Differences, d)
}

func entries(d *dir.Dir) ([]dir.Entry, error) {
	if d == nil {
		return nil, nil
	}
	list, err := d.Entries()
	if dir.Gone(err) {
		return nil, nil // removed since it was opened
	}
	slices.SortFunc(list, func(x, y dir.Entry) int { return strings.Compare(x.Name, y.Name) })
	return list, err
}

// entries walks the sorted entries of both sides side by side.
func (v *visit) entries(a, b []dir.Entry) error {
	for len(a) > 0 || len(b) > 0 {
		var here dir.Entry
		both := false
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			here, a = a[0], a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			here, b = b[0], b[1:]
		default:
			both = a[0].Ino == b[0].Ino
			here, a, b = b[0], a[1:], b[1:]
		}
		if both && v.skip(&here) {
			continue
		}
		if _, err := v.entry(here.Name); err != nil {
			return err
		}
	}
	return nil
}

// entry compares what name is on both sides, and tells whether it is there at all.
// B is in use: what changes between two looks at it is looked at again.
func (v *visit) entry(name string) (there bool, err error) {
	for range 10 {
		if there, err = v.look(name); !dir.Gone(err) {
			break
		}
	}
	return there, err
}

func (v *visit) look(name string) (there bool, err error) {
	var d Difference
	if d.A, err = stat(v.a, name); err != nil {
		return false, err
	}
	if d.B, err = stat(v.b, name); err != nil {
		return false, err
	}
	a, b := &d.A, &d.B
	switch {
	case !a.There() && !b.There():
		return false, nil
	case a.There() && a.Dev != v.devA || b.There() && b.Dev != v.devB:
		v.found.Mounts = append(v.found.Mounts, Join(v.path, name))
		return true, nil
	case a.IsDir() || b.IsDir():
		v.descend(&d, name)
		return true, nil
	case a.Type() == b.Type():
		if d.What, err = v.compare(name, a, b); err != nil {
			return true, err
		}
	}
	linked := a.Nlink > 1 || b.Nlink > 1
	if linked || d.What != 0 || a.Type() != b.Type() {
		d.Path = Join(v.path, name)
		v.differ(d)
	}
	if linked {
		v.found.Linked = append(v.found.Linked, Linked{Path: d.Path, A: d.A, B: d.B})
	}
	return true, nil
}

// descend has the directory walked that is on one side at least. Where it is one on
// one side only of two this is told here.
func (v *visit) descend(d *Difference, name string) {
	d.Path = Join(v.path, name)
	j := job{path: d.Path, a: d.A, b: d.B}
	if d.A.There() && d.B.There() && d.A.Type() != d.B.Type() {
		v.differ(*d)
		j.told = true
		for _, side := range []*dir.Info{&j.a, &j.b} {
			if !side.IsDir() {
				*side = dir.Info{}
			}
		}
		if other := d.A; !other.IsDir() && other.Nlink > 1 {
			v.found.Linked = append(v.found.Linked, Linked{Path: d.Path, A: other})
		}
		if other := d.B; !other.IsDir() && other.Nlink > 1 {
			v.found.Linked = append(v.found.Linked, Linked{Path: d.Path, B: other})
		}
	}
	v.below = append(v.below, j)
}

// stat is what name in d is: nothing where d or the name is not there.
func stat(d *dir.Dir, name string) (dir.Info, error) {
	if d == nil {
		return dir.Info{}, nil
	}
	info, err := d.Stat(name)
	if dir.Gone(err) {
		return dir.Info{}, nil
	}
	return info, err
}
