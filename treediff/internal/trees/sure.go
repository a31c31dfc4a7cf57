package trees

import (
	"golang.org/x/sys/unix"

	"agentfs.internal/treediff/internal/dir"
)

// Where it is known which inodes have changed, a directory that has not has the same
// entries on both sides. Then only B's are listed, which are cached where people work,
// and neither side's files are looked at: of a large tree with few changes, nothing
// but the directories' names is read.

// sure tells whether a directory has the same entries on both sides.
func (p *Pair) sure(a, b *dir.Info) bool {
	return p.OneImage && p.Changed != nil && a.IsDir() && b.IsDir() && a.Ino == b.Ino && !p.Changed.Has(a.Ino)
}

// skip leaves an entry alone that is one inode on both sides, if that has not
// changed. Of a directory what is below it is walked all the same.
func (v *visit) skip(e *dir.Entry) bool {
	if !v.OneImage || v.Changed == nil || !e.Known || v.Changed.Has(e.Ino) {
		return false
	}
	if e.IsDir {
		same := dir.Info{Ino: e.Ino, Mode: unix.S_IFDIR}
		v.below = append(v.below, job{path: Join(v.path, e.Name), a: same, b: same, told: true})
	}
	return true
}

// unchangedEntries walks the entries of a directory that has not changed.
func (v *visit) unchangedEntries(j job) error {
	list, err := entries(v.b)
	if err != nil {
		return err
	}
	for i := range list {
		if v.skip(&list[i]) {
			continue
		}
		if v.a == nil {
			if v.a, err = below(v.A, j.path, &j.a); err != nil {
				return err
			}
		}
		if _, err := v.entry(list[i].Name); err != nil {
			return err
		}
	}
	return nil
}
