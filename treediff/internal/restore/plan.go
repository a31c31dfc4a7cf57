package restore

import (
	"slices"

	"agentfs.internal/tool/status"
	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/trees"
)

// plan is what has to be done, in this order. The sides are those of a comparison:
// "added" is what B has and A lacks, and is removed.
type plan struct {
	remove []*trees.Difference // what is below a directory before it
	dirs   []making            // parents first
	files  [][]making          // files of their own, and metadata; each list is of one directory
	link   []link              // names of files that are there by then
	made   int                 // dirs and files
	counts counts
}

// making is a path of B that is made what it is in A.
type making struct {
	*trees.Difference
	fresh bool // something new; else its metadata are set in place
}

// link is a name that becomes another name of the file at leader.
type link struct{ path, leader string }

// counts are the paths by what happens to them in B.
type counts struct{ added, modified, deleted, metadata int64 }

func (c *counts) add(k trees.Kind) {
	switch k {
	case trees.Deleted:
		c.added++
	case trees.Added:
		c.deleted++
	case trees.Metadata:
		c.metadata++
	default:
		c.modified++
	}
}

// newPlan plans. Nothing has been changed when it fails.
func newPlan(found *trees.Found) (*plan, error) {
	if err := unmounted(found); err != nil {
		return nil, err
	}
	p := &plan{}
	links := linksOf(found)
	for i := range found.Differences {
		d := &found.Differences[i]
		p.counts.add(d.Kind)
		if d.Kind == trees.Added || d.Kind == trees.Type && (d.A.IsDir() || d.B.IsDir()) {
			p.remove = append(p.remove, d)
		}
		switch l, linked := links[d.Path]; {
		case d.Kind == trees.Added:
		case !linked:
			p.make(making{d, d.Kind != trees.Metadata})
		case l.path != l.leader:
			p.link = append(p.link, l.link)
		case l.leads:
			p.make(making{d, !l.stays})
		}
	}
	slices.Reverse(p.remove)
	return p, nil
}

// most is how many files one list may have: some lists are worked on at once.
const most = 64

// make plans to make a path.
func (p *plan) make(m making) {
	p.made++
	if m.A.IsDir() {
		p.dirs = append(p.dirs, m)
		return
	}
	if last := len(p.files) - 1; last >= 0 && len(p.files[last]) < most && sameDir(p.files[last][0].Path, m.Path) {
		p.files[last] = append(p.files[last], m)
		return
	}
	p.files = append(p.files, []making{m})
}

func sameDir(x, y string) bool {
	atX, _ := trees.Split(x)
	atY, _ := trees.Split(y)
	return atX == atY
}

// steps is how many steps the plan has.
func (p *plan) steps() int { return len(p.remove) + p.made + len(p.link) }

// unmounted refuses to remove a directory in which something is mounted.
func unmounted(found *trees.Found) error {
	for _, mount := range found.Mounts {
		for i := range found.Differences {
			d := &found.Differences[i]
			if gone := d.Kind == trees.Added || d.Kind == trees.Type; gone && (mount == d.Path || trees.IsBelow(mount, d.Path)) {
				return status.Errorf(status.Mount, "%s: something is mounted there, and %s must go", mount, d.Path).
					WithHint("umount it")
			}
		}
	}
	return nil
}

// role is what becomes of one name of a file that has more than one.
type role struct {
	link
	leads bool // its file is the one that the others become names of
	stays bool // that file is in B already; of another name: it is a name of it already
}

// linksOf gives the roles of the names that are not, in B, names of what they should
// be. Names that are not in it are treated as any file's.
func linksOf(found *trees.Found) map[string]role {
	roles := map[string]role{}
	claimed := map[uint64]bool{} // inodes of B that stay
	done := map[uint64]bool{}
	inA := trees.Groups(found.Linked, trees.InA)
	for i := range found.Linked {
		l := &found.Linked[i]
		if !l.A.There() || done[l.A.Ino] {
			continue
		}
		done[l.A.Ino] = true
		group := inA[l.A.Ino]
		if slices.ContainsFunc(group, func(i int) bool { return regrouped(found, &found.Linked[i]) }) {
			assign(found, group, claimed, roles)
		}
	}
	return roles
}

// assign gives the names of one file of A their roles.
func assign(found *trees.Found, group []int, claimed map[uint64]bool, roles map[string]role) {
	leader, stays := lead(found, group, claimed)
	for _, i := range group {
		l := &found.Linked[i]
		r := role{link: link{l.Path, leader.Path}, leads: l == leader, stays: stays}
		if l != leader && stays && l.B.There() && l.B.Ino == leader.B.Ino {
			r.path = leader.Path // it is one already, and there is nothing to be done
		}
		roles[l.Path] = r
	}
	if stays {
		claimed[leader.B.Ino] = true
	}
}

// regrouped tells whether a name cannot stay what it is in B.
func regrouped(found *trees.Found, l *trees.Linked) bool {
	d := found.At(l.Path)
	return d != nil && (d.Kind != trees.Metadata || d.What&trees.Links != 0)
}

// lead chooses the name that the others are linked to: one whose file in B has the
// right content and is no other group's, which stays, else the first.
func lead(found *trees.Found, group []int, claimed map[uint64]bool) (leader *trees.Linked, stays bool) {
	for _, i := range group {
		l := &found.Linked[i]
		d := found.At(l.Path)
		if l.B.There() && !claimed[l.B.Ino] && (d == nil || d.Kind == trees.Metadata) {
			return l, true
		}
	}
	return &found.Linked[group[0]], false
}

// missingParents adds the directories that B lacks and in which paths of a
// restriction are in A.
func missingParents(pair *trees.Pair, found *trees.Found) error {
	var fresh []trees.Difference
	for _, path := range pair.Paths {
		at, _ := trees.Split(path)
		for ; at != ""; at, _ = trees.Split(at) {
			d := trees.Difference{Path: at, Kind: trees.Deleted}
			var err error
			if d.A, err = stat(pair.A, at); err != nil || !d.A.There() {
				break // then there is nothing to be made below it
			}
			if d.B, err = stat(pair.B, at); err != nil {
				return err
			}
			if d.B.There() && !d.B.IsDir() {
				return status.Errorf(status.General, "%s: in the way of %s", pair.B.Path(at), path)
			}
			if !d.B.There() && !slices.ContainsFunc(fresh, func(e trees.Difference) bool { return e.Path == at }) {
				fresh = append(fresh, d)
			}
		}
	}
	found.Differences = append(found.Differences, fresh...)
	slices.SortFunc(found.Differences, func(x, y trees.Difference) int { return trees.ComparePaths(x.Path, y.Path) })
	return nil
}

func stat(root *dir.Dir, path string) (dir.Info, error) {
	at, name := trees.Split(path)
	d, err := root.Below(at)
	if dir.Gone(err) {
		return dir.Info{}, nil
	}
	if err != nil {
		return dir.Info{}, err
	}
	defer d.Close()
	info, err := d.Stat(name)
	if dir.Gone(err) {
		return dir.Info{}, nil
	}
	return info, err
}
