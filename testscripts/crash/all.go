//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agentfs.internal/testscripts/crash/replay"
	"agentfs.internal/tool/status"
)

// Of one recording at most so many states are made, of a workload of so many rounds.
const (
	statesPerRecording = 250
	rounds             = 36
)

// workers is how many states are checked side by side.
const workers = 2

// kind is a kind of crash states.
type kind struct {
	name    string
	share   float64 // of all states
	control bool    // most of its states must fail
}

// A source makes crash states of a recording, those of one kind with these indexes. It
// writes each to the directory s.Dir, which is empty, and hands it to done.
type source interface {
	kinds() []kind
	record(ctx context.Context, seed uint64, rounds int) error
	states(kind string, indexes []int, done func(s crashState, write func(dir string) error) error) error
}

// runner runs all states of all kinds.
type runner struct {
	opt    options
	work   string
	rows   []*row
	broken bool // something was violated, or no states could be made
	mu     sync.Mutex
}

// row is a line of the table.
type row struct {
	kind
	states, checks int
	failed         int // states in which something was violated
	violations     int
	time           time.Duration
}

// sources gives what makes states of the recording in a directory.
func sources(dir string, seed uint64) []source {
	return []source{
		&imageSource{recording{filepath.Join(dir, "image")}, seed},
		&hostSource{recording{filepath.Join(dir, "host")}, seed},
	}
}

// all runs everything, in namespaces of its own.
func all(ctx context.Context, work string, args []string) error {
	opt, err := parse(args)
	if err != nil {
		return err
	}
	for _, dir := range []string{work, runDir} {
		if err := ownTmpfs(dir); err != nil {
			return err
		}
	}
	r := &runner{opt: opt, work: work}
	if opt.replay != "" {
		err = r.replay(ctx)
	} else {
		err = r.recordings(ctx)
	}
	return errors.Join(err, r.report(os.Stdout))
}

// recordings makes as many as are needed.
func (r *runner) recordings(ctx context.Context) error {
	for i, left := uint64(0), r.opt.states; left > 0; i++ {
		n := min(left, statesPerRecording)
		left -= n
		seed := r.opt.seed*1000 + i
		dir := filepath.Join(r.work, fmt.Sprintf("seed-%d", seed))
		if err := errors.Join(os.Mkdir(dir, 0o700), meta{r.work, seed}.write(dir)); err != nil {
			return err
		}
		for _, s := range sources(dir, seed) {
			if !slices.ContainsFunc(s.kinds(), func(k kind) bool { return r.opt.wants(k.name) }) {
				continue
			}
			began := time.Now()
			if err := s.record(ctx, seed, rounds*max(n, 100)/statesPerRecording); err != nil {
				return fmt.Errorf("recording, seed %d: %w", seed, err)
			}
			r.say("recorded a workload, seed %d (%.0fs)", seed, time.Since(began).Seconds())
			if err := r.one(ctx, s, n); err != nil {
				r.broken = true
				return errors.Join(err, r.keep(ctx, dir))
			}
		}
		if err := r.keep(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// one makes all states of a recording.
func (r *runner) one(ctx context.Context, s source, n int) error {
	for _, k := range s.kinds() {
		if !r.opt.wants(k.name) {
			continue
		}
		if err := r.states(ctx, s, k, r.opt.indexes(int(float64(n)*k.share+0.5))); err != nil {
			return err
		}
	}
	return nil
}

// indexes gives the first n, or the only one that is wanted.
func (o options) indexes(n int) []int {
	if _, index, one := strings.Cut(o.only, ":"); one {
		i, _ := strconv.Atoi(index)
		return []int{i}
	}
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// states checks states of one kind, some side by side.
func (r *runner) states(ctx context.Context, s source, k kind, indexes []int) error {
	began := time.Now()
	row := r.row(k)
	var wg sync.WaitGroup
	defer func() {
		wg.Wait()
		row.time += time.Since(began)
		r.say("%s: %d states, %d with violations", k.name, row.states, row.failed)
	}()
	turns := make(chan string, workers)
	for i := range workers {
		turns <- filepath.Join(r.work, "state-"+strconv.Itoa(i))
	}
	return s.states(k.name, indexes, func(state crashState, write func(dir string) error) error {
		state.Dir = <-turns
		err := os.MkdirAll(state.Dir, 0o700)
		if err == nil {
			err = write(state.Dir)
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		wg.Go(func() {
			r.check(ctx, state, row)
			turns <- state.Dir
		})
		return nil
	})
}

// check checks a state and adds it to its row.
func (r *runner) check(ctx context.Context, state crashState, row *row) {
	result, err := state.check(ctx)
	if err == nil {
		err = state.remove()
	}
	if err != nil && ctx.Err() == nil {
		result.Violations = append(result.Violations, err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	row.states++
	row.checks += result.Checks
	row.violations += len(result.Violations)
	if len(result.Violations) == 0 {
		return
	}
	row.failed++
	if !row.control || r.opt.only != "" {
		for _, v := range result.Violations {
			r.say("%s:%d: %s", state.Kind, state.Index, v)
		}
	}
	r.broken = r.broken || !row.control
}

func (r *runner) row(k kind) *row {
	for _, row := range r.rows {
		if row.kind == k {
			return row
		}
	}
	r.rows = append(r.rows, &row{kind: k})
	return r.rows[len(r.rows)-1]
}

// keep keeps a recording in which something was violated, and forgets any other.
func (r *runner) keep(ctx context.Context, dir string) error {
	if r.broken && r.opt.keep != "" {
		to, err := os.MkdirTemp(r.opt.keep, "agentfs-crash-")
		if err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, "cp", "-a", "--sparse=always", dir+"/.", to).CombinedOutput(); err != nil {
			return fmt.Errorf("cp: %w: %s", err, out)
		}
		r.say("kept; again: scripts/crash -replay %s -only KIND:INDEX", to)
		r.broken = false
	}
	return os.RemoveAll(dir)
}

func (r *runner) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "crash: "+format+"\n", args...)
}

// report prints the table, and tells whether all is well.
func (r *runner) report(out io.Writer) error {
	fmt.Fprintln(out, "| kind | states | checks | states with violations | violations | seconds |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- |")
	var bad []string
	for _, row := range r.rows {
		name := row.name
		if row.control {
			name += " (control: must fail)"
		}
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %.0f |\n", name, row.states, row.checks, row.failed, row.violations, row.time.Seconds())
		if row.control != (2*row.failed > row.states) || !row.control && row.failed > 0 {
			bad = append(bad, row.name)
		}
	}
	if len(bad) > 0 {
		return status.Errorf(status.General, "not as it should be: %s", strings.Join(bad, ", "))
	}
	return nil
}

// imageSource makes the crash states of package replay.
type imageSource struct {
	recording
	seed uint64
}

func (s *imageSource) kinds() []kind {
	return []kind{
		{string(replay.Prefix), 0.3, false},
		{string(replay.Flushed), 0.2, false},
		{string(replay.Dropped), 0.4, false},
		{string(replay.IgnoreFlushes), 0.1, true},
	}
}

func (s *imageSource) states(kind string, indexes []int, done func(s crashState, write func(dir string) error) error) error {
	rec, err := s.open(s.seed)
	if err != nil {
		return err
	}
	var env []string
	if kind != string(replay.Prefix) {
		env = []string{"AGENTFS_BOOT_ID=after-the-power-cut"}
	}
	return rec.Build(replay.Mode(kind), indexes, func(st replay.State, write func(dir string) error) error {
		return done(crashState{
			Kind: kind, Index: st.Index, Cut: st.Cut, Seed: st.Seed, Root: s.root(), Claims: s.claims(), Env: env,
		}, func(dir string) error {
			home := filepath.Join(dir, "home")
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			return write(home)
		})
	})
}

// replay makes the states of a recording that was kept.
func (r *runner) replay(ctx context.Context) error {
	m, err := readMeta(r.opt.replay)
	if err != nil {
		return err
	}
	dir := filepath.Join(r.work, fmt.Sprintf("seed-%d", m.Seed))
	if out, err := exec.CommandContext(ctx, "cp", "-a", "--sparse=always", r.opt.replay, dir).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	for _, s := range sources(dir, m.Seed) {
		if err := r.one(ctx, s, min(r.opt.states, statesPerRecording)); err != nil {
			return err
		}
	}
	return nil
}
