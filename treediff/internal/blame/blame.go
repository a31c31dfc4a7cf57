// Package blame follows the lines of a file back through its changes, to the ones
// that made them what they are.
package blame

import (
	"fmt"

	"agentfs.internal/tool/record"
)

// Blame knows which change each line comes from. Changes are numbers that the
// caller gives, newest first.
type Blame struct {
	from  []int // per line the change that it comes from, or Unknown
	open  []run // the lines of which that is not known yet, in order
	lines int   // that the file had where the way back has come to
}

// Unknown is where lines come from that no change has made.
const Unknown = -1

// run is lines that follow each other: n from now on in the file, which were those
// from then on where the way back has come to.
type run struct{ now, then, n int }

// most is how many lines a file can have had; more are made up.
const most = 1 << 30

// New begins at a file of so many lines.
func New(lines int) *Blame {
	b := &Blame{from: make([]int, lines), lines: lines}
	for i := range b.from {
		b.from[i] = Unknown
	}
	b.keep(run{0, 0, lines})
	return b
}

// From gives for each line the change that it comes from, or Unknown.
func (b *Blame) From() []int { return b.from }

// Open tells whether there are lines left of which that is not known.
func (b *Blame) Open() bool { return len(b.open) > 0 }

// Rest says that all lines that are left come from a change.
func (b *Blame) Rest(change int) {
	for _, r := range b.open {
		b.settle(r, change)
	}
	b.open = nil
}

// Back goes back behind a change. Hunks that cannot be of this file are an error,
// and nothing is changed.
func (b *Blame) Back(change int, hunks []record.Hunk) error {
	before, err := fit(hunks, b.lines)
	if err != nil {
		return err
	}
	runs := b.open
	b.open, b.lines = nil, before
	moved := 0 // from now to then, by the hunks ahead
	for _, r := range runs {
		for r.n > 0 {
			for len(hunks) > 0 && end(hunks[0]) <= r.then {
				moved += hunks[0].OldLines - hunks[0].NewLines
				hunks = hunks[1:]
			}
			r = b.part(r, hunks, moved, change)
		}
	}
	return nil
}

// part takes as many lines off the run's front as share their fate, and gives the
// rest. The first of the hunks does not end ahead of the run.
func (b *Blame) part(r run, hunks []record.Hunk, moved, change int) run {
	n := r.n
	switch {
	case len(hunks) == 0:
		b.keep(run{r.now, r.then + moved, n})
	case hunks[0].NewStart > r.then:
		n = min(n, hunks[0].NewStart-r.then)
		b.keep(run{r.now, r.then + moved, n})
	default:
		n = min(n, end(hunks[0])-r.then)
		b.settle(run{r.now, r.then, n}, change)
	}
	return r.behind(n)
}

func end(h record.Hunk) int { return h.NewStart + h.NewLines }

// behind is the run without its first lines.
func (r run) behind(n int) run { return run{r.now + n, r.then + n, r.n - n} }

func (b *Blame) settle(r run, change int) {
	for i := range r.n {
		b.from[r.now+i] = change
	}
}

// keep notes a run that goes on, as one with the last where they follow each other
// both now and then.
func (b *Blame) keep(r run) {
	last := len(b.open) - 1
	switch {
	case r.n == 0:
	case last >= 0 && b.open[last].behind(b.open[last].n) == (run{r.now, r.then, 0}):
		b.open[last].n += r.n
	default:
		b.open = append(b.open, r)
	}
}

// fit gives how many lines a file had before the hunks made it one of so many.
func fit(hunks []record.Hunk, lines int) (before int, err error) {
	oldEnd, newEnd := 0, 0
	for _, h := range hunks {
		equal := h.NewStart - newEnd // lines since the last hunk
		if equal < 0 || h.OldStart-oldEnd != equal || h.NewLines > lines-h.NewStart || h.OldLines > most-h.OldStart {
			return 0, fmt.Errorf("hunk [%d,%d,%d,%d] does not fit a file of %d lines",
				h.OldStart, h.OldLines, h.NewStart, h.NewLines, lines)
		}
		oldEnd, newEnd = h.OldStart+h.OldLines, h.NewStart+h.NewLines
	}
	if before = lines - newEnd + oldEnd; before > most {
		return 0, fmt.Errorf("hunks of a file of %d lines", before)
	}
	return before, nil
}
