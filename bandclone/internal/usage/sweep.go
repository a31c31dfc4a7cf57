package usage

import (
	"cmp"
	"slices"
)

// interval is a run of bytes on a disk that a file holds.
type interval struct {
	from, to uint64
	owner    int
	outside  bool // the file has names elsewhere
	shared   bool // the filesystem says that other files hold it too
}

// sweep goes over the intervals of one disk by place. Between one end of an
// interval and the next, the same intervals hold every byte.
func (c *Collector) sweep(list []interval) {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	var active []interval
	at := uint64(0)
	for len(list) > 0 || len(active) > 0 {
		if len(active) == 0 {
			at = list[0].from
		}
		for len(list) > 0 && list[0].from == at {
			active, list = append(active, list[0]), list[1:]
		}
		end := active[0].to
		for _, i := range active {
			end = min(end, i.to)
		}
		if len(list) > 0 {
			end = min(end, list[0].from)
		}
		c.segment(active, int64(end-at))
		at = end
		active = slices.DeleteFunc(active, func(i interval) bool { return i.to <= end })
	}
}

// segment counts bytes that all the active intervals hold.
func (c *Collector) segment(active []interval, bytes int64) {
	if len(active) == 1 {
		c.count(active[0].owner, bytes, active[0].outside || active[0].shared)
		return
	}
	var groups []int
	outside := false
	for _, i := range active {
		groups = append(groups, c.owners.groups(i.owner)...)
		outside = outside || i.outside
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	for _, g := range groups {
		c.groups[g].Logical += bytes
	}
	if len(groups) == 1 && !outside {
		c.groups[groups[0]].Exclusive += bytes
	}
	c.unite(groups, bytes, outside)
}
