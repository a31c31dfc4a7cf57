// Package trees finds what differs between two directory trees.
//
// Both sides of a directory are read side by side, some directories at once. What
// is held in memory are the directories that wait, depth times breadth of them,
// and the differences; never the trees.
package trees

import (
	"context"
	"slices"
	"strings"
	"time"

	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/inodes"
)

// Kind is in what way a path differs.
type Kind string

// The kinds.
const (
	Added    Kind = "added"    // only in B
	Deleted  Kind = "deleted"  // only in A
	Modified Kind = "modified" // content, target or device differs, perhaps metadata too
	Renamed  Kind = "renamed"  // a file of A has another path in B; only from Renames
	Type     Kind = "type"     // a file became a directory or the like
	Metadata Kind = "metadata" // nothing but metadata differs
)

// What is a set of what differs of something that is in both trees.
type What uint8

// The members of What.
const (
	Content What = 1 << iota
	Target
	Mode
	Owner
	Xattrs
	Times
	Links
	Device
	substance = Content | Target | Device
)

var whatNames = []string{"content", "target", "mode", "owner", "xattrs", "times", "links", "device"}

// Names gives the members' names in records.
func (w What) Names() []string {
	var names []string
	for i, name := range whatNames {
		if w&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Difference is one path that differs. Paths have slashes and no "." but for the
// root itself, which is "".
type Difference struct {
	Path string
	From string // kind renamed: the path in A
	Kind Kind
	What What
	A, B dir.Info // not there: the zero value
}

// PathInA is the path that the thing has in A.
func (d *Difference) PathInA() string {
	if d.Kind == Renamed {
		return d.From
	}
	return d.Path
}

// Pair is two trees, A before and B after, and how they are compared.
type Pair struct {
	A, B *dir.Dir
	// OneImage: both come from one filesystem image. A file whose inode number,
	// size, mtime and ctime agree is not read.
	OneImage bool
	// Parted is when the images parted, zero for not known. Times are as coarse as
	// a clock tick: near that moment they prove nothing, and files are read.
	Parted time.Time
	// Changed are the inodes that may have changed, with OneImage: all others are
	// what they were, and a directory that is none of them has the same entries. Nil
	// where that is not known.
	Changed *inodes.Set
	Times   bool     // mtimes alone are differences too
	Paths   []string // only these and what is below them; see CleanPaths
}

// Found is what Compare has found.
type Found struct {
	Differences []Difference // by path, see ComparePaths
	Linked      []Linked     // names of files with more than one, by path
	Mounts      []string     // paths that were left out: something is mounted there
}

// Compare finds the differences. A path of the restriction that is in neither
// tree is an error that names it.
func (p *Pair) Compare(ctx context.Context) (*Found, error) {
	w, err := newWalk(p)
	if err != nil {
		return nil, err
	}
	if err := w.start(); err != nil {
		return nil, err
	}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	found := &w.found
	slices.SortFunc(found.Differences, func(x, y Difference) int { return ComparePaths(x.Path, y.Path) })
	slices.SortFunc(found.Linked, func(x, y Linked) int { return ComparePaths(x.Path, y.Path) })
	slices.Sort(found.Mounts)
	found.regroup()
	return found, nil
}

// ComparePaths orders paths component by component, bytewise: parents come before
// what is below them, and that before their siblings.
func ComparePaths(x, y string) int {
	n := min(len(x), len(y))
	for i := range n {
		if x[i] != y[i] {
			return rank(x[i]) - rank(y[i])
		}
	}
	return len(x) - len(y)
}

// rank is a byte's place in the order: the slash is before all.
func rank(c byte) int {
	if c == '/' {
		return -1
	}
	return int(c)
}

// Join is the path of name in the directory at a path.
func Join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "/" + name
}

// Split parts a path into the directory's and the name in it.
func Split(path string) (at, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// IsBelow tells whether a path is below another one.
func IsBelow(path, top string) bool {
	return top == "" && path != "" || len(path) > len(top) && path[len(top)] == '/' && path[:len(top)] == top
}
