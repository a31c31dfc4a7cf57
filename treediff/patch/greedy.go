package patch

import "slices"

// maxEdits is how many lines the greedy method adds and deletes at most; it
// needs memory for the square of that.
const maxEdits = 300

// greedySteps bounds the lines that the greedy method compares for a file.
const greedySteps = 10_000_000

// greedy finds the shortest way from one side of r to the other, if it is short:
// Myers's O(ND) algorithm. It is for texts of many equal lines, which have no
// anchors. reached[d][d+k] is how many old lines are behind after d edits on the
// diagonal k, which is old lines less new lines.
func (c *comparison) greedy(r change) bool {
	a, b := c.a[r.i1:r.i2], c.b[r.j1:r.j2]
	var reached [][]int
	for d := 0; d <= maxEdits && c.greedyBudget > 0; d++ {
		reached = append(reached, make([]int, 2*d+1))
		for k := -d; k <= d && c.greedyBudget > 0; k += 2 {
			i := step(reached, d, k)
			from := i
			for i < len(a) && i-k < len(b) && a[i] == b[i-k] {
				i++
			}
			c.greedyBudget -= 1 + i - from
			reached[d][d+k] = i
			if i >= len(a) && i-k >= len(b) {
				c.trace(r, reached)
				return true
			}
		}
	}
	return false
}

// step is where edit d puts the diagonal k: a line is added, coming from the
// diagonal above, or deleted, from the one below; the one that is further on.
func step(reached [][]int, d, k int) int {
	switch {
	case d == 0:
		return 0
	case added(reached[d-1], d, k):
		return reached[d-1][d+k]
	}
	return reached[d-1][d+k-2] + 1
}

func added(before []int, d, k int) bool {
	return k == -d || k != d && before[d+k-2] < before[d+k]
}

// trace goes back over the edits and adds them to the changes, neighbours as one.
func (c *comparison) trace(r change, reached [][]int) {
	var edits []change
	k := (r.i2 - r.i1) - (r.j2 - r.j1)
	for d := len(reached) - 1; d > 0; d-- {
		i := r.i1 + step(reached, d, k)
		j := r.j1 + (i - r.i1) - k
		if added(reached[d-1], d, k) {
			edits = append(edits, change{i, i, j - 1, j})
			k++
		} else {
			edits = append(edits, change{i - 1, i, j, j})
			k--
		}
	}
	slices.Reverse(edits)
	for n, e := range edits {
		if last := len(c.changes) - 1; n > 0 && c.changes[last].i2 == e.i1 && c.changes[last].j2 == e.j1 {
			c.changes[last].i2, c.changes[last].j2 = e.i2, e.j2
		} else {
			c.changes = append(c.changes, e)
		}
	}
}
