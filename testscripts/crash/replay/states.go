//go:build linux

package replay

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Mode is a kind of crash.
type Mode string

// The modes.
const (
	Prefix        Mode = "prefix"         // all that was written by then is there
	Flushed       Mode = "flush"          // at a flush's end; nothing is there but what was durable
	Dropped       Mode = "drop"           // of what was not durable a part is there, some of it torn
	IgnoreFlushes Mode = "ignore-flushes" // as Dropped, with what was durable lost, too: this must not go well
)

// ignored is how much of the log a flush is late where flushes are ignored.
const ignored = 4 << 20

// State is one crash.
type State struct {
	Mode  Mode
	Index int
	Cut   int64  // its time
	Seed  uint64 // of all that is random in it
}

// Recording is what there is of a workload.
type Recording struct {
	Home string // path at which the home was
	Base string // copy of the home as it was when the log began
	DBs  string // directory of the copies of the database
	Log  []Record
	Seed uint64
}

// states makes the crashes of a mode with these indexes: the same ones from the same
// recording. Half of them are beside what a tool has done.
func (r *Recording) states(mode Mode, indexes []int) []State {
	times, busy := r.times(mode)
	var list []State
	for _, i := range indexes {
		random := rand.New(rand.NewPCG(r.Seed, uint64(i)<<8|uint64(len(mode))))
		from := [][]int64{times, busy}[random.IntN(2)]
		list = append(list, State{mode, i, from[random.IntN(len(from))], random.Uint64()})
	}
	slices.SortFunc(list, func(a, b State) int { return cmp.Compare(a.Cut, b.Cut) })
	return list
}

// times gives the times at which a crash of this mode can be, and those of them that
// are at a mark or next to one.
func (r *Recording) times(mode Mode) (all, busy []int64) {
	marked := false
	for _, rec := range r.Log {
		if rec.Kind == MarkKind && len(all) > 0 {
			busy = append(busy, all[len(all)-1])
		}
		if mode != Flushed || rec.Kind == FlushEnd {
			all = append(all, rec.End)
			if marked || rec.Kind == MarkKind {
				busy = append(busy, rec.End)
			}
			marked = false
		}
		marked = marked || rec.Kind == MarkKind
	}
	return all, busy
}

// Build makes the homes of the states of a mode with these indexes, by their time.
// Each is given to done with the function that writes it to a directory.
func (r *Recording) Build(mode Mode, indexes []int, done func(s State, write func(dir string) error) error) error {
	lag := int64(0)
	if mode == IgnoreFlushes {
		lag = ignored
	}
	h, err := begin(r.Home, r.Base, r.Log[0], lag)
	if err != nil {
		return err
	}
	rest := r.Log[1:]
	for _, s := range r.states(mode, indexes) {
		if rest, err = h.until(s.Cut, rest); err != nil {
			return err
		}
		if err := done(s, func(dir string) error { return h.writeTo(dir, r.DBs, s) }); err != nil {
			return err
		}
	}
	_, err = h.until(math.MaxInt64, rest) // all of it must make sense
	return err
}

// until does what was done until a time, and gives the rest.
func (h *home) until(cut int64, log []Record) ([]Record, error) {
	for len(log) > 0 && log[0].End <= cut {
		if err := h.do(log[0]); err != nil {
			return nil, fmt.Errorf("at %d of the log: %w", log[0].End, err)
		}
		log = log[1:]
	}
	return log, nil
}
