//go:build linux

package host

import "math/rand/v2"

// State is what a crash leaves: which of the first operations of a log, and in what
// part.
type State struct {
	log  *Log
	kept []part // of each operation before the cut
	seed uint64 // decides which sectors of torn writes are kept
}

type part uint8

const (
	lost part = iota
	whole
	torn // some of its sectors of 512 bytes
)

// Cut is how many operations had happened.
func (s *State) Cut() int { return len(s.kept) }

// Position is how long the log was at the cut, in bytes.
func (s *State) Position() int64 { return s.log.Ops[len(s.kept)-1].End }

// Model decides what is left.
type Model struct {
	Name string
	// Power says whether it is the power that fails. Else all processes die, and the
	// host goes on.
	Power bool
	// Control says that it breaks what a host promises, so that something must be
	// found to be lost.
	Control bool

	pick func(l *Log, cut int, r *rand.Rand) *State
}

// Models are all of them.
//
//	host-prefix   everything up to the cut
//	host-fsync    at the end of an fsync: of each file what was there when it was last
//	              synced, and names as they were when anything was last synced
//	host-drop     anywhere: of what was written and not synced a random subset, torn;
//	              names as they were at some moment since the last sync of one of them,
//	              for ext4, XFS and btrfs keep their order
//	host-any      as host-drop, but names in any order: only what the directory's own
//	              fsync covers is sure, and a rename is in one piece
//	host-control  as host-prefix, without half of the data written lately, synced or not
var Models = []Model{
	{Name: "host-prefix", pick: prefix},
	{Name: "host-fsync", Power: true, pick: afterSync},
	{Name: "host-drop", Power: true, pick: drop},
	{Name: "host-any", Power: true, pick: anyOrder},
	{Name: "host-control", Power: true, Control: true, pick: ignoreSyncs},
}

// State gives a state of a model: the cut lies after the first operations, from. Half
// of the cuts lie right behind a change of names: most of all operations are writes,
// and little depends on most of these.
func (m Model) State(l *Log, from int, r *rand.Rand) *State {
	cut := from + r.IntN(len(l.Ops)-from+1)
	if r.IntN(2) == 0 {
		for cut < len(l.Ops) && !l.Ops[cut-1].Kind.named() {
			cut++
		}
	}
	return m.pick(l, cut, r)
}

func (l *Log) state(cut int, r *rand.Rand) *State {
	return &State{log: l, kept: make([]part, cut), seed: r.Uint64()}
}

func prefix(l *Log, cut int, r *rand.Rand) *State {
	s := l.state(cut, r)
	for i := range s.kept {
		s.kept[i] = whole
	}
	return s
}

func afterSync(l *Log, cut int, r *rand.Rand) *State {
	for cut < len(l.Ops) && l.Ops[cut-1].Kind != SyncEnd {
		cut++
	}
	s := l.state(cut, r)
	syncs := l.syncs(cut)
	s.keepNames(syncs.last)
	s.keepData(syncs, r, 0)
	return s
}

func drop(l *Log, cut int, r *rand.Rand) *State {
	s := l.state(cut, r)
	syncs := l.syncs(cut)
	sure := l.sureNames(syncs)
	s.keepNames(sure + r.IntN(cut-sure+1))
	s.keepData(syncs, r, r.Float64())
	return s
}

func anyOrder(l *Log, cut int, r *rand.Rand) *State {
	s := l.state(cut, r)
	syncs := l.syncs(cut)
	s.keepAnyNames(syncs, r, r.Float64())
	s.keepData(syncs, r, r.Float64())
	return s
}

func ignoreSyncs(l *Log, cut int, r *rand.Rand) *State {
	s := prefix(l, cut, r)
	for i := cut / 2; i < cut; i++ {
		if l.Ops[i].Kind == Write && r.IntN(2) == 0 {
			s.kept[i] = lost
		}
	}
	return s
}

// syncs is what was synced when: the number of the operation at which the last
// completed sync began, of each file and of any.
type syncs struct {
	of   map[uint64]int
	last int
}

func (l *Log) syncs(cut int) syncs {
	s := syncs{of: map[uint64]int{}}
	for _, op := range l.Ops[:cut] {
		if op.Kind == SyncEnd {
			s.of[op.Ino] = max(s.of[op.Ino], int(op.Len))
			s.last = max(s.last, int(op.Len))
		}
	}
	return s
}

// covers tells whether the directory of operation i, one of both, was synced since.
func (s syncs) covers(op *Op, i int) bool {
	return i < s.of[op.Dir] || op.Kind == Rename && i < s.of[op.Dir2]
}

// sureNames is the number of operations whose names are sure where the host keeps
// their order: those before the last one that a sync covers, of the directory or of
// the file itself.
func (l *Log) sureNames(s syncs) int {
	sure := 0
	for i := range l.Ops[:s.last] {
		op := &l.Ops[i]
		if op.Kind.named() && (s.covers(op, i) || i < s.of[op.Ino]) {
			sure = i + 1
		}
	}
	return sure
}

// named tells whether it changes names.
func (k Kind) named() bool { return k <= Rename }

// keepNames keeps the names of the first operations.
func (s *State) keepNames(n int) {
	for i := range s.log.Ops[:n] {
		if s.log.Ops[i].Kind.named() {
			s.kept[i] = whole
		}
	}
}

// keepAnyNames keeps what is sure, whatever of the same name came before that, and
// each other one with the probability share, if what came before it is kept.
func (s *State) keepAnyNames(done syncs, r *rand.Rand, share float64) {
	ops := s.log.Ops
	for i := len(s.kept) - 1; i >= 0; i-- {
		if ops[i].Kind.named() && (s.kept[i] == whole || i == 0 || done.covers(&ops[i], i)) {
			s.kept[i] = whole
			for _, before := range s.log.deps[i] {
				if before >= 0 {
					s.kept[before] = whole
				}
			}
		}
	}
	for i := range s.kept {
		if ops[i].Kind.named() && s.kept[i] == lost && r.Float64() < share && s.hasAll(s.log.deps[i]) {
			s.kept[i] = whole
		}
	}
}

// hasAll tells whether these operations are kept.
func (s *State) hasAll(deps [2]int32) bool {
	for _, before := range deps {
		if before >= 0 && s.kept[before] == lost {
			return false
		}
	}
	return true
}

// dependencies gives for each operation the last ones before it with the same names,
// -1 for none. Names change in order, each for itself.
func dependencies(ops []Op) [][2]int32 {
	type slot struct {
		dir  uint64
		name string
	}
	last := map[slot]int32{}
	deps := make([][2]int32, len(ops))
	for i, op := range ops {
		deps[i] = [2]int32{-1, -1}
		if !op.Kind.named() {
			continue
		}
		slots := []slot{{op.Dir, op.Name}}
		if op.Kind == Rename {
			slots = append(slots, slot{op.Dir2, op.Name2})
		}
		for j, at := range slots {
			if before, ok := last[at]; ok {
				deps[i][j] = before
			}
			last[at] = int32(i)
		}
	}
	return deps
}

// keepData keeps what was synced of each file, and each other change of a file with the
// probability share; a fifth of these writes is torn.
func (s *State) keepData(done syncs, r *rand.Rand, share float64) {
	for i := range s.kept {
		op := &s.log.Ops[i]
		switch {
		case op.Kind.named() || op.Kind >= SyncBegin:
		case i < done.of[op.Ino]:
			s.kept[i] = whole
		case r.Float64() >= share:
		case op.Kind == Write && r.IntN(5) == 0:
			s.kept[i] = torn
		default:
			s.kept[i] = whole
		}
	}
}
