// Package pipeline runs tools as the stages of a pipeline: all are started at
// once, the output of each is the input of the next, and what flows between
// them never passes through this process. So a pipeline ends as it would have
// ended even if this process is killed in the middle of it.
package pipeline

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// A stage finds the lock at this descriptor, if this is in its environment.
const (
	LockFD  = 3
	LockEnv = "AGENTFS_LOCK_FD"
)

// grace is how long an interrupted stage may take to end by itself.
const grace = 10 * time.Second

// Stage is one process.
type Stage struct {
	Args []string     // the tool's name and its arguments
	Done func() error // called when it has done its work, in the order of the stages: an error is the stage's; may be nil
	When func() error // asked before it is started, when all others have been; an error is that of the pipeline, and the stage is not started; may be nil
	Live io.Writer    // gets the progress that it writes to standard error, as it comes; may be nil
	In   *os.File     // standard input of a first stage that reads no records; may be nil
}

// Tool makes a stage.
func Tool(args ...string) Stage { return Stage{Args: args} }

// Then gives the stage with a function to call when it has done its work: also
// where it could not hand on its record any more, because the stage behind it
// had gone.
func (s Stage) Then(done func() error) Stage {
	s.Done = done
	return s
}

// Showing gives the stage with a terminal to show its progress on.
func (s Stage) Showing(live io.Writer) Stage {
	s.Live = live
	return s
}

// Reading gives a first stage its standard input.
func (s Stage) Reading(in *os.File) Stage {
	s.In = in
	return s
}

// Runner starts stages.
type Runner struct {
	Find  func(tool string) string // the path or name of a tool's binary
	Lock  *os.File                 // where not nil, inherited by every stage as descriptor 3: held until the last of them has ended
	Also  *os.File                 // where not nil, a second lock, inherited with the first as descriptor 4
	Err   io.Writer                // gets what stages say that end well
	Trace io.Writer                // where not nil, gets every stage's command line and time
}

// Run feeds in, where it is not nil, to the first stage and returns the record
// that the last one writes. Where stages fail, the error is the *Failure of the
// first to blame. With a context that cannot be cancelled the stages are out of
// reach of the terminal's interrupt too.
func (r *Runner) Run(ctx context.Context, in *record.Record, stages ...Stage) (*record.Record, error) {
	var out bytes.Buffer
	if err := r.Pass(ctx, in, &out, stages...); err != nil {
		return nil, err
	}
	rec, err := record.Read(&out)
	if err != nil {
		return nil, silent(stages[len(stages)-1])
	}
	return rec, nil
}

// List is Run for a last stage that writes any number of records.
func (r *Runner) List(ctx context.Context, in *record.Record, stages ...Stage) ([]*record.Record, error) {
	var out bytes.Buffer
	if err := r.Pass(ctx, in, &out, stages...); err != nil {
		return nil, err
	}
	return record.ReadAll(&out)
}

// Exec is Run for a last stage that writes no records.
func (r *Runner) Exec(ctx context.Context, in *record.Record, stages ...Stage) error {
	return r.Pass(ctx, in, io.Discard, stages...)
}

// silent blames a stage that ended well and wrote no record.
func silent(s Stage) error {
	return &Failure{Tool: s.Args[0], Code: status.General, Words: s.Args[0] + ": ended without a record\n"}
}

// Pass is Run for a last stage that writes anything, which goes to out.
func (r *Runner) Pass(ctx context.Context, in *record.Record, out io.Writer, stages ...Stage) error {
	if in == nil {
		return r.Feed(ctx, nil, out, stages...)
	}
	return r.Feed(ctx, []*record.Record{in}, out, stages...)
}

// Feed is Pass for a first stage that reads a list.
func (r *Runner) Feed(ctx context.Context, in []*record.Record, out io.Writer, stages ...Stage) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	procs, err := r.prepare(ctx, stages)
	if err != nil {
		return err
	}
	input, err := linesOf(in)
	if err != nil {
		return err
	}
	switch {
	case len(input) > 0:
		procs[0].cmd.Stdin = bytes.NewReader(input)
	case stages[0].In != nil:
		procs[0].cmd.Stdin = stages[0].In
	}
	procs[len(procs)-1].cmd.Stdout = out
	start(procs)
	r.trace(nil, input, procs)
	for i, p := range procs {
		p.wait()
		r.trace(p, nil, procs[i:])
	}
	if err := blame(procs); err != nil {
		switch {
		case ctx.Err() != nil:
			return ErrInterrupted
		case refused(procs) != nil:
			return refused(procs)
		}
		return err
	}
	r.warnings(procs)
	return nil
}

// linesOf gives records as a stage reads them, a line each.
func linesOf(list []*record.Record) ([]byte, error) {
	var text bytes.Buffer
	for _, rec := range list {
		if err := rec.Write(&text); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// warnings hands on what stages said that ended well.
func (r *Runner) warnings(procs []*proc) {
	for _, p := range procs {
		_, _ = r.Err.Write(p.words.text.Bytes())
	}
}

// proc is a stage while it runs.
type proc struct {
	Stage
	cmd   *exec.Cmd
	began time.Time
	words words
	err   error // why it could not be started
	not   error // why it was not to be
	mine  []*os.File
}

// refused gives the error of the stage that was not to be started.
func refused(procs []*proc) error {
	for _, p := range procs {
		if p.not != nil {
			return p.not
		}
	}
	return nil
}

// prepare finds all tools before any is started: a missing one must not be
// noticed when those before it have done their work.
func (r *Runner) prepare(ctx context.Context, stages []Stage) ([]*proc, error) {
	procs := make([]*proc, len(stages))
	for i, s := range stages {
		found := r.Find(s.Args[0])
		path, err := exec.LookPath(found)
		if err != nil {
			return nil, status.Errorf(status.CannotRun, "%s: not beside agentfs and not on the PATH", s.Args[0])
		}
		p := &proc{Stage: s, cmd: exec.CommandContext(ctx, path, s.Args[1:]...)}
		p.cmd.Args[0] = found // as it can be typed, for the trace
		p.words.live = s.Live
		p.cmd.Stderr = &p.words
		p.cmd.WaitDelay = grace
		p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: ctx.Done() == nil}
		r.lend(p.cmd)
		procs[i] = p
	}
	return procs, nil
}

// lend makes a process inherit the lock.
func (r *Runner) lend(cmd *exec.Cmd) {
	if r.Lock != nil {
		cmd.ExtraFiles = []*os.File{r.Lock}
		if r.Also != nil {
			cmd.ExtraFiles = append(cmd.ExtraFiles, r.Also)
		}
		cmd.Env = append(os.Environ(), LockEnv+"="+strconv.Itoa(LockFD))
	}
}

// start starts all stages, the second one first: it starts another process and has
// the most to do before its record comes. One that cannot be started is noted as
// failed; its neighbours see the end of their input.
func start(procs []*proc) {
	for i, p := range procs[:len(procs)-1] {
		p.err = p.pipe(procs[i+1])
	}
	order := slices.Clone(procs)
	if len(order) > 1 {
		order[0], order[1] = order[1], order[0]
	}
	slices.SortStableFunc(order, whenLast)
	for _, p := range order {
		p.start()
	}
}

// whenLast puts stages that are to be asked about behind the others.
func whenLast(p, q *proc) int {
	last := map[bool]int{true: 1}
	return last[p.When != nil] - last[q.When != nil]
}

func (p *proc) start() {
	if p.When != nil && p.err == nil {
		p.not = p.When()
		p.err = p.not
	}
	p.began = time.Now()
	if p.err == nil {
		p.err = p.cmd.Start()
	}
	for _, f := range p.mine {
		_ = f.Close() // the child has its own
	}
}

// pipe connects p to the next stage.
func (p *proc) pipe(next *proc) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p.cmd.Stdout, p.mine = w, append(p.mine, w)
	next.cmd.Stdin, next.mine = r, append(next.mine, r)
	return nil
}

// wait waits for the end of the stage. What counts is how the process ended: one
// that was interrupted and finished its work all the same has done its work.
func (p *proc) wait() {
	if p.err != nil {
		return
	}
	p.err = p.cmd.Wait()
	if state := p.cmd.ProcessState; state != nil && state.Success() {
		p.err = nil
	}
	if p.Done != nil && (p.err == nil || brokenPipe(p.err)) {
		if err := p.Done(); err != nil {
			p.err = err
		}
	}
}
