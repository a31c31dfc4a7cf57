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
	filled  = fault.Define("treediff.apply.filled")   // a file: with its data
	dressed = fault.Define("treediff.apply.dressed")  // and its metadata
	renamed = fault.Define("treediff.apply.renamed")  // under its name
	mkdired = fault.Define("treediff.apply.mkdir")    // a directory is there, without its metadata
	inPlace = fault.Define("treediff.apply.metadata") // a file that stays has its metadata
)

var tempNames = regexp.MustCompile(`^\.treediff-[0-9a-f]{8}$`)

func tempName() string { return fmt.Sprintf(".treediff-%08x", rand.Uint32()) }

// make makes one path of B what it is in A, but for what is in a directory.
func (h *hand) make(m making) error {
	at, name := trees.Split(m.Path)
	switch {
	case m.A.IsDir() && !m.fresh:
		h.later(m.Path)
		return nil
	case m.A.IsDir():
		return h.mkdir(m.Path)
	}
	a, err := h.a.open(at)
	if err != nil {
		return err
	}
	if !m.fresh {
		return h.inPlace(a, at, name)
	}
	b, err := h.writable(at)
	if err != nil {
		return err
	}
	return h.replace(a, b, name, m.A)
}

// later has a directory's metadata set at the end, when nothing changes it any more.
func (h *hand) later(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.touched[path] {
		h.touched[path] = false
	}
}

// mkdir makes a directory; its metadata come when its names are there.
func (h *hand) mkdir(path string) error {
	at, name := trees.Split(path)
	b, err := h.writable(at)
	if err != nil {
		return err
	}
	if err := b.Mkdir(name); err != nil {
		return err
	}
	if err := mkdired.Reach(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.touched[path], h.created[path] = true, true
	return nil
}

// inPlace sets the metadata of a file that stays the one that it is.
func (h *hand) inPlace(a *dir.Dir, at, name string) error {
	b, err := h.b.open(at)
	if err != nil {
		return err
	}
	if err := dress(a, name, b, name); err != nil {
		return err
	}
	return inPlace.Reach()
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
func (h *hand) replace(a, b *dir.Dir, name string, like dir.Info) error {
	temp := tempName()
	err := h.copy(a, name, like, b, temp)
	if err == nil {
		err = b.Rename(temp, name)
	}
	if err != nil {
		_ = b.Unlink(temp)
		return err
	}
	return renamed.Reach()
}

// copy makes temp in b what name in a is: data first, since writing takes
// capabilities and times away.
func (h *hand) copy(a *dir.Dir, name string, like dir.Info, b *dir.Dir, temp string) error {
	if like.IsRegular() {
		return h.copyFile(a, name, b, temp)
	}
	if err := makeNode(a, name, like, b, temp); err != nil {
		return err
	}
	if err := made.Reach(); err != nil {
		return err
	}
	if err := dress(a, name, b, temp); err != nil {
		return err
	}
	return dressed.Reach()
}

func makeNode(a *dir.Dir, name string, like dir.Info, b *dir.Dir, temp string) error {
	if !like.IsSymlink() {
		return b.Mknod(temp, like)
	}
	target, err := a.Readlink(name)
	if err != nil {
		return err
	}
	return b.Symlink(target, temp)
}

func (h *hand) copyFile(a *dir.Dir, name string, b *dir.Dir, temp string) error {
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
	if err := made.Reach(); err != nil {
		return err
	}
	n, err := to.CopyFrom(from)
	h.Bytes.Add(n)
	if err != nil {
		return err
	}
	if err := filled.Reach(); err != nil {
		return err
	}
	xattrs, err := a.Xattrs(name)
	if err != nil {
		return err
	}
	node, err := to.Node(b, temp)
	if err != nil {
		return err
	}
	if err := node.Dress(from.Info, xattrs); err != nil {
		return err
	}
	return dressed.Reach()
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
