// Package usage tells how much of the disk each of several directories of bands
// takes, and how much of that would be free if it alone were deleted, or some of
// them together.
//
// Bands are shared in two ways: one file has names in several directories, or
// several files share extents. Each file is asked once, however many names it
// has. What is shared with something outside the directories that were added is
// not free when one of them is deleted either: the link count and the
// filesystem's word that an extent is shared tell of it.
package usage

import (
	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/extent"

	"golang.org/x/sys/unix"
)

// Group is what one directory takes, in bytes.
type Group struct {
	Name, Path         string
	Logical, Exclusive int64
}

// Collector counts directories that are added one by one.
type Collector struct {
	groups []Group
	sets   []*bands.Set
	files  map[fileID]int
	list   []file
	owners owners
	chosen map[int]bool // the groups that Freed is about
	union  Group
}

type fileID struct{ dev, ino uint64 }

// file is one file with all names that were found.
type file struct {
	set     *bands.Set // where it was found first
	band    bands.Band
	owner   int    // index of the groups that have it, see owners
	names   uint64 // found
	links   uint64 // that exist
	size    int64  // allocated
	outside bool   // more names than were found
}

// New makes a collector.
func New() *Collector {
	return &Collector{files: map[fileID]int{}, owners: newOwners(), chosen: map[int]bool{}}
}

// Close closes the directories that were added.
func (c *Collector) Close() {
	for _, s := range c.sets {
		s.Close()
	}
}

// Add counts the bands of one directory as a group. The directory stays open
// until Close.
func (c *Collector) Add(name string, set *bands.Set) error {
	c.sets = append(c.sets, set)
	group := len(c.groups)
	c.groups = append(c.groups, Group{Name: name, Path: set.Dir.Path("")})
	for _, b := range set.Bands {
		id := fileID{set.Dev, b.Ino}
		i, ok := c.files[id]
		if !ok {
			info, err := set.Dir.Stat(b.Name())
			if err != nil {
				return err
			}
			i = len(c.list)
			c.files[id] = i
			c.list = append(c.list, file{set: set, band: b, links: info.Nlink, size: info.Allocated})
		}
		f := &c.list[i]
		f.names++
		f.owner = c.owners.with(f.owner, group)
	}
	return nil
}

// Choose adds the group that was added last to those that Union is about.
func (c *Collector) Choose() { c.chosen[len(c.groups)-1] = true }

// Union gives the chosen groups as if they were one. It is known once Groups has
// been called.
func (c *Collector) Union() Group { return c.union }

// Groups gives the directories in the order in which they were added.
func (c *Collector) Groups() ([]Group, error) {
	places := map[uint64][]interval{} // by device
	sharing := map[uint64]bool{}
	var mapper extent.Mapper
	var list []extent.Extent
	for i := range c.list {
		f := &c.list[i]
		f.outside = f.links > f.names
		dev := f.set.Dev
		if _, ok := sharing[dev]; !ok {
			sharing[dev] = extent.Sharing(f.set.Dir.FD())
		}
		var ok bool
		if sharing[dev] {
			list, ok = f.extents(&mapper, list[:0])
		}
		if !ok {
			c.count(f.owner, f.size, f.outside)
			continue
		}
		places[dev] = c.place(places[dev], f, list)
	}
	for _, list := range places {
		c.sweep(list)
	}
	return c.groups, nil
}

// extents gives the file's extents; it is false where the filesystem tells none.
func (f *file) extents(m *extent.Mapper, list []extent.Extent) ([]extent.Extent, bool) {
	fd, err := f.set.Dir.OpenFile(f.band.Name(), unix.O_RDONLY, 0)
	if err != nil {
		return list, false
	}
	defer fd.Close()
	found, err := m.Map(int(fd.Fd()), list)
	if err != nil {
		return list, false
	}
	return found, true
}

// place adds the file's extents to the intervals of its device. An extent
// without a place, compressed or kept in the inode, is counted by its length.
func (c *Collector) place(list []interval, f *file, extents []extent.Extent) []interval {
	for _, e := range extents {
		if !e.Placed() {
			c.count(f.owner, int64(e.Length), f.outside || e.Shared())
			continue
		}
		list = append(list, interval{
			from: e.Physical, to: e.Physical + e.Length,
			owner: f.owner, outside: f.outside, shared: e.Shared(),
		})
	}
	return list
}

// count gives bytes to each group of owner; they are exclusive where there is
// one group and nobody else has them.
func (c *Collector) count(owner int, bytes int64, more bool) {
	groups := c.owners.groups(owner)
	for _, g := range groups {
		c.groups[g].Logical += bytes
	}
	if len(groups) == 1 && !more {
		c.groups[groups[0]].Exclusive += bytes
	}
	c.unite(groups, bytes, more)
}

// unite counts bytes that these groups have for the union of the chosen ones.
func (c *Collector) unite(groups []int, bytes int64, more bool) {
	within := 0
	for _, g := range groups {
		if c.chosen[g] {
			within++
		}
	}
	if within > 0 {
		c.union.Logical += bytes
	}
	if within > 0 && within == len(groups) && !more {
		c.union.Exclusive += bytes
	}
}
