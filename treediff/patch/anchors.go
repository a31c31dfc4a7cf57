package patch

import (
	"slices"
	"sort"
)

// pair is a line of the old side and its equal on the new side.
type pair struct{ i, j int }

// unique gives the lines within r that are there exactly once on either side, in
// the order of the old side.
func (c *comparison) unique(r change) []pair {
	const many = -1
	places := make(map[string]int, r.j2-r.j1)
	for j := r.j1; j < r.j2; j++ {
		if _, ok := places[c.b[j]]; ok {
			places[c.b[j]] = many
		} else {
			places[c.b[j]] = j
		}
	}
	times := make(map[string]int, r.i2-r.i1)
	for _, line := range c.a[r.i1:r.i2] {
		times[line]++
	}
	var found []pair
	for i := r.i1; i < r.i2; i++ {
		if j, ok := places[c.a[i]]; ok && j != many && times[c.a[i]] == 1 {
			found = append(found, pair{i, j})
		}
	}
	return found
}

// longestRising gives the longest choice of pairs whose lines are in order on the
// new side too: patience sorting, n log n.
func longestRising(pairs []pair) []pair {
	var tops []int // per pile, the pair on top, by index; their j rise
	below := make([]int, len(pairs))
	for k, p := range pairs {
		pile := sort.Search(len(tops), func(t int) bool { return pairs[tops[t]].j > p.j })
		below[k] = -1
		if pile > 0 {
			below[k] = tops[pile-1]
		}
		if pile == len(tops) {
			tops = append(tops, k)
		} else {
			tops[pile] = k
		}
	}
	var chosen []pair
	if len(tops) > 0 {
		for k := tops[len(tops)-1]; k >= 0; k = below[k] {
			chosen = append(chosen, pairs[k])
		}
	}
	slices.Reverse(chosen)
	return chosen
}
