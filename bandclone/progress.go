package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"agentfs.internal/tool/size"
)

// How long work may take without a word, and how often it tells.
const (
	patience = time.Second
	interval = 200 * time.Millisecond
)

// progress tells how many bytes have been read, in one line that is written over.
type progress struct {
	done, total atomic.Int64 // total is 0 where it is not known
	quit        chan struct{}
	end         sync.WaitGroup
}

// startProgress shows progress on a terminal, or with always on whatever it is.
func startProgress(w io.Writer, always bool, what string) *progress {
	p := &progress{quit: make(chan struct{})}
	if always || isTerminal(w) {
		p.end.Go(func() { p.show(w, what) })
	}
	return p
}

func (p *progress) add(bytes int64) { p.done.Add(bytes) }

func (p *progress) show(w io.Writer, what string) {
	shown := false
	for wait := patience; ; wait = interval {
		select {
		case <-time.After(wait):
			fmt.Fprintf(w, "\r%s %s", what, p)
			shown = true
		case <-p.quit:
			if shown {
				fmt.Fprintf(w, "\r%s %s\n", what, p)
			}
			return
		}
	}
}

func (p *progress) String() string {
	if total := p.total.Load(); total > 0 {
		return size.Format(p.done.Load()) + " of " + size.Format(total)
	}
	return size.Format(p.done.Load())
}

// stop ends it; it may be called twice.
func (p *progress) stop() {
	select {
	case <-p.quit:
	default:
		close(p.quit)
	}
	p.end.Wait()
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
