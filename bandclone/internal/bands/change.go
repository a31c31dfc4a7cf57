package bands

import "time"

// A clone keeps the time of the last change of its band, and was itself made
// later. A change of the band after that moment has another time, unless it
// came within the clock's grain; so equal times prove equality only where the
// clone is younger than the change by more than the coarsest grain of a
// filesystem's clock, FAT's two seconds.
const grain = int64(2 * time.Second)

// Changed counts the bands of clone that differ from parent's, appeared or
// vanished since. linked says of which clones the inode number alone decides.
func Changed(clone, parent *Set, linked func(num uint64) bool) (int64, error) {
	var changed int64
	exact := NewComparer(clone.Dir, parent.Dir)
	err := Pairs(clone, parent, func(p Pair) error {
		same, err := unchanged(p, exact, clone.Dev == parent.Dev, linked)
		if !same {
			changed++
		}
		return err
	})
	return changed, err
}

func unchanged(p Pair, exact *Comparer, oneDevice bool, linked func(uint64) bool) (bool, error) {
	if oneDevice && p.SameFile() {
		return true, nil
	}
	if !p.InA || !p.InB || oneDevice && linked(p.Num) {
		return false, nil
	}
	a, err := exact.A.Stat(Name(p.Num))
	if err != nil {
		return false, err
	}
	b, err := exact.B.Stat(Name(p.Num))
	if err != nil {
		return false, err
	}
	if a.Size != b.Size || a.Mtime != b.Mtime {
		return false, nil
	}
	if b.Ctime-b.Mtime > grain {
		return true, nil
	}
	return exact.Equal(p.Num)
}
