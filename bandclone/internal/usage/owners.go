package usage

// owners numbers the sets of groups that occur. There are few, as checkpoints
// are added in order: a band is in v1, v1–v2, v1–v3 and so on. So a set is another one
// and one group more: else ten thousand checkpoints would take gigabytes.
type owners struct {
	sets []owner
	next map[owner]int
	list []int // see groups
}

// owner is a set: that of number before, and the last group.
type owner struct{ before, group int }

func newOwners() owners {
	return owners{sets: []owner{{}}, next: map[owner]int{}}
}

// groups are the groups of a set, the last one that was added first, until the next
// call. Set 0 is empty.
func (o *owners) groups(set int) []int {
	o.list = o.list[:0]
	for ; set != 0; set = o.sets[set].before {
		o.list = append(o.list, o.sets[set].group)
	}
	return o.list
}

// with is the set and one more group. A group comes after all before it, or is
// in the set as its last.
func (o *owners) with(set, group int) int {
	if set != 0 && o.sets[set].group == group {
		return set
	}
	s := owner{set, group}
	if n, ok := o.next[s]; ok {
		return n
	}
	o.sets = append(o.sets, s)
	o.next[s] = len(o.sets) - 1
	return len(o.sets) - 1
}
