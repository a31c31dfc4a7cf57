package restore

import (
	"fmt"
	"math/rand/v2"
	"regexp"

	"agentfs.internal/tool/fault"
	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/trees"
)

var (
	made    = fault.Define("treediff.apply.made")     // a temporary name is there, empty
	filled  = fault.Define("treediff.apply.filled")   // with its data
	dressed = fault.Define("treediff.apply.dressed")  // and its metadata
	renamed = fault.Define("treediff.apply.renamed")  // under its name
	mkdired = fault.Define("treediff.apply.mkdir")    // a directory is there, without its metadata
	inPlace = fault.Define("treediff.apply.metadata") // a file that stays has its metadata
)

var tempNames = regexp.MustCompile(`^\.treediff-[0-9a-f]{8}$`)

func tempName() string { return fmt.Sprintf(".treediff-%08x", rand.Uint32()) }

// make makes one path of B what it is in A, but for what is in a directory.
func (r *Restore) make(m making) error {
	at, name := trees.Split(m.Path)
	switch {
	case m.A.IsDir() && !m.fresh:
		if !r.touched[m.Path] {
			r.touched[m.Path] = false // later, when nothing changes it any more
		}
		return nil
	case m.A.IsDir():
		return r.mkdir(m.Path)
	}
	a, err := r.a.open(at)
	if err != nil {
		return err
	}
	if !m.fresh {
		return r.inPlace(a, at, name)
	}
	b, err := r.writable(at)
	if err != nil {
		return err
	}
	return r.replace(a, b, name)
}

// mkdir makes a directory; its metadata come when its names are there.
func (r *Restore) mkdir(path string) error {
	at, name := trees.Split(path)
	b, err := r.writable(at)
	if err != nil {
		return err
	}
	if err := b.Mkdir(name); err != nil {
		return err
	}
	mkdired.Reach()
	r.touched[path], r.created[path] = true, true
	return nil
}

// inPlace sets the metadata of a file that stays the one that it is.
func (r *Restore) inPlace(a *dir.Dir, at, name string) error {
	b, err := r.b.open(at)
	if err != nil {
		return err
	}
	if err := dress(a, name, b, name); err != nil {
		return err
	}
	inPlace.Reach()
	return nil
}

// dress gives a file of B the metadata of a file of A.
func dress(a *dir.Dir, name string, b *dir.Dir, other string) error {
	like, err := a.Node(name)
	if err != nil {
		return err
	}
	defer like.Close()
	xattrs, err := a.Xattrs(name)
	if err != nil {
		return err
	}
	node, err := b.Node(other)
	if err != nil {
		return err
	}
	defer node.Close()
	return node.Dress(like.Info, xattrs)
}

// replace makes a copy aside and renames it into place.
func (r *Restore) replace(a, b *dir.Dir, name string) error {
	temp := tempName()
	err := r.copy(a, name, b, temp)
	if err == nil {
		err = b.Rename(temp, name)
	}
	if err != nil {
		_ = b.Unlink(temp)
		return err
	}
	renamed.Reach()
	return nil
}

// copy makes temp in b what name in a is: data first, since writing takes
// capabilities and times away.
func (r *Restore) copy(a *dir.Dir, name string, b *dir.Dir, temp string) error {
	info, err := a.Stat(name)
	if err != nil {
		return err
	}
	switch {
	case info.IsRegular():
		err = r.copyFile(a, name, b, temp)
	case info.IsSymlink():
		var target string
		if target, err = a.Readlink(name); err == nil {
			err = b.Symlink(target, temp)
		}
	default:
		err = b.Mknod(temp, info)
	}
	if err != nil {
		return err
	}
	filled.Reach()
	if err := dress(a, name, b, temp); err != nil {
		return err
	}
	dressed.Reach()
	return nil
}

func (r *Restore) copyFile(a *dir.Dir, name string, b *dir.Dir, temp string) error {
	from, err := a.OpenFile(name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := b.Create(temp)
	if err != nil {
		return err
	}
	defer to.Close()
	made.Reach()
	n, err := to.CopyFrom(from)
	r.Bytes += n
	return err
}

// sweep removes what a killed restore has left beside the paths of a restriction:
// the comparison does not see it there.
func (r *Restore) sweep() error {
	for _, path := range r.Pair.Paths {
		at, _ := trees.Split(path)
		if err := r.sweepIn(at); err != nil {
			return err
		}
	}
	return nil
}

func (r *Restore) sweepIn(at string) error {
	b, err := r.Pair.B.Below(at)
	if dir.Gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer b.Close()
	entries, err := b.Entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name
		if !tempNames.MatchString(name) {
			continue
		}
		if inA, err := stat(r.Pair.A, trees.Join(at, name)); err != nil || inA.There() {
			continue
		}
		if err := b.Unlink(name); err != nil && !dir.Gone(err) {
			return err
		}
	}
	return nil
}
