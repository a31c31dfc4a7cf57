package trees

import (
	"context"
	"errors"
	"sync"

	"agentfs.internal/tool/status"
	"agentfs.internal/treediff/internal/dir"
)

// workers walk at once: more than there are processors, since a cold disk makes
// them wait.
const workers = 6

// job is a directory to be walked.
type job struct {
	path string
	a, b dir.Info // as its parent's walk saw it; not there, or no directory: zero
	told bool     // its own difference is found already
}

// walk is one comparison at work.
type walk struct {
	*Pair
	devA, devB uint64

	mu    sync.Mutex
	more  sync.Cond
	stack []job // last in, first out: that bounds its length
	busy  int
	err   error
	found Found
}

func newWalk(p *Pair) (*walk, error) {
	w := &walk{Pair: p}
	w.more.L = &w.mu
	a, err := p.A.Self()
	if err != nil {
		return nil, err
	}
	b, err := p.B.Self()
	if err != nil {
		return nil, err
	}
	w.devA, w.devB = a.Dev, b.Dev
	if p.Paths == nil {
		w.stack = []job{{a: a, b: b}}
	}
	return w, nil
}

// start looks at the paths of the restriction.
func (w *walk) start() error {
	for _, path := range w.Paths {
		at, name := Split(path)
		v := &visit{walk: w, path: at}
		var err error
		if v.a, err = w.parent(w.A, at); err == nil {
			v.b, err = w.parent(w.B, at)
		}
		there := false
		if err == nil {
			there, err = v.entry(name)
		}
		v.close()
		if err != nil {
			return err
		}
		if !there {
			return status.Errorf(status.General, "%s: in neither tree", path)
		}
		w.take(v)
	}
	return nil
}

// parent opens a directory on the way to a path; nil where there is none.
func (w *walk) parent(root *dir.Dir, at string) (*dir.Dir, error) {
	d, err := root.Below(at)
	switch {
	case dir.Gone(err):
		return nil, nil
	case dir.IsMount(err):
		return nil, status.Errorf(status.General, "%s: something is mounted there or above it", root.Path(at))
	}
	return d, err
}

// run walks until no directory is left.
func (w *walk) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { w.fail(context.Cause(ctx)) })
	defer stop()
	var all sync.WaitGroup
	for range workers {
		all.Go(w.work)
	}
	all.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *walk) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.more.Broadcast()
}

func (w *walk) work() {
	for {
		j, ok := w.next()
		if !ok {
			return
		}
		v := &visit{walk: w, path: j.path}
		err := v.directory(j)
		v.close()
		if err != nil {
			w.fail(err)
		}
		w.take(v)
		w.done()
	}
}

// next waits for a directory; false means that there will be none.
func (w *walk) next() (job, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.stack) == 0 && w.busy > 0 && w.err == nil {
		w.more.Wait()
	}
	last := len(w.stack) - 1
	if last < 0 || w.err != nil {
		return job{}, false
	}
	j := w.stack[last]
	w.stack = w.stack[:last]
	w.busy++
	return j, true
}

func (w *walk) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if w.busy == 0 && len(w.stack) == 0 {
		w.more.Broadcast()
	}
}

// take takes what a visit has found.
func (w *walk) take(v *visit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stack = append(w.stack, v.below...)
	w.found.Differences = append(w.found.Differences, v.found.Differences...)
	w.found.Linked = append(w.found.Linked, v.found.Linked...)
	w.found.Mounts = append(w.found.Mounts, v.found.Mounts...)
	for range v.below {
		w.more.Signal()
	}
}

// errMount: a directory is left out, something is mounted there.
var errMount = errors.New("mounted")
