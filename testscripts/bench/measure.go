package main

import (
	"context"
	"fmt"
	"time"
)

// subject is one question: how long does each candidate take for the same work?
type subject struct {
	key        string
	title      string
	unit       func(float64) string // of what is measured: seconds or bytes
	amount     float64              // of work in one run, for a rate; 0 for none
	rate       string               // unit of the rate
	bases      []string             // candidates that the others are set in ratio to
	candidates []candidate
}

// candidate is one way to do the work.
type candidate struct {
	name    string
	reset   step   // brings back the state before; all is on disk afterwards
	dirty   step   // what happens right before
	measure sample // the work
	absent  string // why it cannot be measured here; "" if it can
}

type (
	step   func(ctx context.Context, n int) error
	sample func(ctx context.Context, n int) (float64, error)
)

// timed makes a sample of a step: its seconds.
func timed(do step) sample {
	return func(ctx context.Context, n int) (float64, error) {
		started := time.Now()
		err := do(ctx, n)
		return time.Since(started).Seconds(), err
	}
}

// timedRun is a program's time from start to end.
func timedRun(p program) sample {
	return timed(func(ctx context.Context, _ int) error { return p.run(ctx) })
}

// race lets the candidates take turns. Round 0 warms up all caches and does not
// count; a quick run has none. A candidate that fails drops out; only the end of
// the whole program ends the race.
func (b *bench) race(ctx context.Context, s subject) error {
	if !b.wanted(s.key) {
		return nil
	}
	r := newResult(s)
	b.results = append(b.results, r)
	first := 0
	if b.opt.quick {
		first = 1
	}
	for n := first; n <= b.opt.runs; n++ {
		b.say("%s: %s", s.key, round(n, b.opt.runs))
		for i := range s.candidates {
			if err := b.turn(ctx, r, &s.candidates[i], n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) turn(ctx context.Context, r *result, c *candidate, n int) error {
	if c.absent != "" {
		r.absent[c.name] = c.absent
		return ctx.Err()
	}
	v, err := b.once(ctx, c, n)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		c.absent = err.Error()
		r.absent[c.name] = c.absent
		b.failed = b.failed || isOurs(c.name)
		b.say("  %-34s %s", c.name, c.absent)
		return nil
	}
	b.say("  %-34s %s", c.name, r.unit(v))
	if n > 0 {
		r.samples[c.name] = append(r.samples[c.name], v)
	}
	return nil
}

func (b *bench) once(ctx context.Context, c *candidate, n int) (float64, error) {
	if c.reset != nil {
		if err := c.reset(ctx, n); err != nil {
			return 0, fmt.Errorf("before run %d: %w", n, err)
		}
	}
	settle()
	time.Sleep(b.size.calm)
	if c.dirty != nil {
		if err := c.dirty(ctx, n); err != nil {
			return 0, fmt.Errorf("before run %d: %w", n, err)
		}
	}
	return c.measure(ctx, n)
}

func round(n, runs int) string {
	if n == 0 {
		return "warming up"
	}
	return fmt.Sprintf("run %d of %d", n, runs)
}

// say tells on standard error what goes on, with the time since the beginning.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.log, "%6.1f s  "+format+"\n", append([]any{time.Since(b.began).Seconds()}, args...)...)
}
