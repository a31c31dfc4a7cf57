package usage

// owners numbers the sets of groups that occur. There are few, as checkpoints
// are added in order: a band is in v1, v1–v2, v1–v3 and so on.
type owners struct {
	sets [][]int
	next map[[2]int]int // set and added group -> set
}

func newOwners() owners {
	return owners{sets: [][]int{nil}, next: map[[2]int]int{}}
}

// groups are the groups of a set, in the order in which they were added. Set 0
// is empty.
func (o *owners) groups(set int) []int { return o.sets[set] }

// with is the set and one more group. A group comes after all before it, or is
// in the set as its last.
func (o *owners) with(set, group int) int {
	old := o.sets[set]
	if n := len(old); n > 0 && old[n-1] == group {
		return set
	}
	key := [2]int{set, group}
	if s, ok := o.next[key]; ok {
		return s
	}
	o.sets = append(o.sets, append(old[:len(old):len(old)], group))
	o.next[key] = len(o.sets) - 1
	return len(o.sets) - 1
}
