package patch

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"agentfs.internal/tool/record"
)

// change says that the lines i1 to i2 of the old side became j1 to j2 of the new
// one; the ends are not included. Lines between two changes are equal.
type change struct{ i1, i2, j1, j2 int }

// lineDiff is the difference of two texts. Only the lines around what differs
// are kept: a large file with a small change costs little.
type lineDiff struct {
	before   int      // lines ahead of old and new, equal on both sides
	outside  int      // bytes ahead of and behind old and new
	old, new []string // lines with their newlines; the last line of a file may lack it
	changes  []change // in order
}

// Hunks says which lines Write deletes and adds. A binary file has none. Where the
// type changes, compare either side with nothing.
func Hunks(before, after []byte) (hunks []record.Hunk, binary bool) {
	if isBinary(before) || isBinary(after) {
		return nil, true
	}
	d := diffLines(before, after)
	hunks = make([]record.Hunk, len(d.changes))
	for i, c := range d.changes {
		hunks[i] = record.Hunk{OldStart: d.before + c.i1, OldLines: c.i2 - c.i1, NewStart: d.before + c.j1, NewLines: c.j2 - c.j1}
	}
	return hunks, false
}

// Count gives how many lines are added and deleted.
func Count(hunks []record.Hunk) (added, deleted int) {
	for _, h := range hunks {
		added += h.NewLines
		deleted += h.OldLines
	}
	return added, deleted
}

// Lines parts a text into the lines that hunks count, each with its newline; the
// last one may lack it. A binary file has none.
func Lines(text []byte) (lines []string, binary bool) {
	if isBinary(text) {
		return nil, true
	}
	return splitLines(text), false
}

func diffLines(before, after []byte) *lineDiff {
	head := commonPrefix(before, after)
	tail := commonSuffix(before[head:], after[head:])
	head = backLines(before[:head], context)
	tail = skipLines(before, after, tail, context)
	d := &lineDiff{
		before:  bytes.Count(before[:head], []byte{'\n'}),
		outside: head + tail,
		old:     splitLines(before[head : len(before)-tail]),
		new:     splitLines(after[head : len(after)-tail]),
	}
	d.changes = compare(d.old, d.new)
	return d
}

// shared is how many bytes are in lines that did not change.
func (d *lineDiff) shared() int {
	shared := d.outside
	for _, line := range d.old {
		shared += len(line)
	}
	for _, c := range d.changes {
		for _, line := range d.old[c.i1:c.i2] {
			shared -= len(line)
		}
	}
	return shared
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	const block = 4096 // bytes.Equal is many times as fast as a loop
	i := 0
	for i+block <= n && bytes.Equal(a[i:i+block], b[i:i+block]) {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[len(a)-n:], b[len(b)-n:]
	const block = 4096
	i := n
	for i >= block && bytes.Equal(a[i-block:i], b[i-block:i]) {
		i -= block
	}
	for i > 0 && a[i-1] == b[i-1] {
		i--
	}
	return n - i
}

// backLines is the start of the line in which the text ends, and then of n lines
// before it.
func backLines(text []byte, n int) int {
	end := bytes.LastIndexByte(text, '\n') + 1
	for ; n > 0 && end > 0; n-- {
		end = bytes.LastIndexByte(text[:end-1], '\n') + 1
	}
	return end
}

// skipLines shortens the common tail: to where a line begins on both sides, and
// then by n lines.
func skipLines(a, b []byte, tail, n int) int {
	if !lineStart(a, len(a)-tail) || !lineStart(b, len(b)-tail) {
		n++
	}
	for ; n > 0; n-- {
		end := bytes.IndexByte(a[len(a)-tail:], '\n')
		if end < 0 {
			return 0
		}
		tail -= end + 1
	}
	return tail
}

func lineStart(text []byte, i int) bool { return i == 0 || text[i-1] == '\n' }

func splitLines(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		return lines[:last]
	}
	return lines
}

// comparison finds the changes between two lists of lines. Lines are there as
// short names, so that long ones cost no more.
type comparison struct {
	a, b         []string
	budget       int // steps that may still be spent on the exact method
	greedyBudget int // and on the greedy one
	changes      []change
}

// exactSteps bounds what the exact method may cost a file. A step is 15 ns at
// most: BenchmarkWorst.
const exactSteps = 8_000_000

// maxDepth is how often anchors are looked for between anchors.
const maxDepth = 8

func compare(before, after []string) []change {
	names := make(map[string]string, len(before))
	c := &comparison{a: shortNames(names, before), b: shortNames(names, after), budget: exactSteps, greedyBudget: greedySteps}
	c.between(change{0, len(before), 0, len(after)}, 0)
	return c.changes
}

func shortNames(names map[string]string, lines []string) []string {
	short := make([]string, len(lines))
	for i, line := range lines {
		name, ok := names[line]
		if !ok {
			name = strconv.Itoa(len(names))
			names[line] = name
		}
		short[i] = name
	}
	return short
}

// between finds the changes within r: exactly if that is affordable, or else
// between anchors, or else greedily, or else all of it is one change.
func (c *comparison) between(r change, depth int) {
	for r.i1 < r.i2 && r.j1 < r.j2 && c.a[r.i1] == c.b[r.j1] {
		r.i1, r.j1 = r.i1+1, r.j1+1
	}
	for r.i1 < r.i2 && r.j1 < r.j2 && c.a[r.i2-1] == c.b[r.j2-1] {
		r.i2, r.j2 = r.i2-1, r.j2-1
	}
	switch {
	case r.i1 == r.i2 && r.j1 == r.j2:
	case r.i1 == r.i2 || r.j1 == r.j2:
		c.changes = append(c.changes, r)
	case c.affords(r):
		c.exact(r)
	default:
		c.anchored(r, depth)
	}
}

func (c *comparison) exact(r change) {
	m := difflib.NewMatcherWithJunk(c.a[r.i1:r.i2], c.b[r.j1:r.j2], false, nil)
	for _, op := range m.GetOpCodes() {
		if op.Tag != 'e' {
			c.changes = append(c.changes, change{r.i1 + op.I1, r.i1 + op.I2, r.j1 + op.J1, r.j1 + op.J2})
		}
	}
}

// affords takes what the exact method may cost at worst off the budget. It goes
// over the old lines, and over each one's equals among the new lines, at most
// as often as there are lines on the shorter side.
func (c *comparison) affords(r change) bool {
	rounds := min(r.i2-r.i1, r.j2-r.j1)
	steps := r.i2 - r.i1
	if steps > c.budget/rounds {
		return false
	}
	times := make(map[string]int, r.j2-r.j1)
	for _, line := range c.b[r.j1:r.j2] {
		times[line]++
	}
	for _, line := range c.a[r.i1:r.i2] {
		steps += times[line]
	}
	if steps > c.budget/rounds {
		return false
	}
	c.budget -= steps * rounds
	return true
}

// anchored holds on to the lines that are there once on either side, and looks
// between them again: what is not unique in the file may be so there.
func (c *comparison) anchored(r change, depth int) {
	var anchors []pair
	if depth < maxDepth {
		anchors = longestRising(c.unique(r))
	}
	if len(anchors) == 0 {
		if !c.greedy(r) {
			c.changes = append(c.changes, r)
		}
		return
	}
	for _, at := range anchors {
		c.between(change{r.i1, at.i, r.j1, at.j}, depth+1)
		r.i1, r.j1 = at.i+1, at.j+1
	}
	c.between(r, depth+1)
}
