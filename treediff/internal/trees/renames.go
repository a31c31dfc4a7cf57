package trees

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"

	"agentfs.internal/treediff/internal/dir"
)

// Renames joins a file that is gone and one that is new to one that was renamed,
// where that is certain: of all that are gone and all that are new exactly these
// two have this content, and it is not empty.
func (p *Pair) Renames(ctx context.Context, f *Found) error {
	sums, err := p.sums(ctx, candidates(f.Differences))
	if err != nil {
		return err
	}
	for _, same := range sums {
		if len(same) != 2 || same[0].Kind == same[1].Kind {
			continue
		}
		gone, fresh := same[0], same[1]
		if gone.Kind == Added {
			gone, fresh = fresh, gone
		}
		if err := p.rename(gone, fresh); err != nil && !dir.Gone(err) {
			return err
		}
	}
	f.Differences = slices.DeleteFunc(f.Differences, func(d Difference) bool { return d.Kind == "" })
	return nil
}

// candidates are the files that may have been renamed: one of their size is gone
// and one is new.
func candidates(all []Difference) []*Difference {
	bySize := map[int64][]*Difference{}
	for i := range all {
		d := &all[i]
		switch {
		case d.Kind == Added && d.B.IsRegular() && d.B.Size > 0:
			bySize[d.B.Size] = append(bySize[d.B.Size], d)
		case d.Kind == Deleted && d.A.IsRegular() && d.A.Size > 0:
			bySize[d.A.Size] = append(bySize[d.A.Size], d)
		}
	}
	var list []*Difference
	for _, same := range bySize {
		if slices.ContainsFunc(same, isKind(Added)) && slices.ContainsFunc(same, isKind(Deleted)) {
			list = append(list, same...)
		}
	}
	return list
}

func isKind(k Kind) func(*Difference) bool { return func(d *Difference) bool { return d.Kind == k } }

// sums groups files by the SHA-256 of their content.
func (p *Pair) sums(ctx context.Context, list []*Difference) ([][]*Difference, error) {
	var mu sync.Mutex
	groups := map[[sha256.Size]byte][]*Difference{}
	err := Each(ctx, len(list), func(i int) error {
		sum, err := p.sum(list[i])
		if dir.Gone(err) {
			return nil // in use: then it is no rename
		}
		mu.Lock()
		defer mu.Unlock()
		groups[sum] = append(groups[sum], list[i])
		return err
	})
	return slices.Collect(maps.Values(groups)), err
}

func (p *Pair) sum(d *Difference) (sum [sha256.Size]byte, err error) {
	root, size := p.B, d.B.Size
	if d.Kind == Deleted {
		root, size = p.A, d.A.Size
	}
	file, err := OpenFile(root, d.Path)
	if err != nil {
		return sum, err
	}
	defer file.Close()
	h := hashes.Get().(hash.Hash)
	defer hashes.Put(h)
	h.Reset()
	if _, err := io.Copy(h, io.LimitReader(file, size+1)); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}

var hashes = sync.Pool{New: func() any { return sha256.New() }}

// OpenFile opens a regular file below a root.
func OpenFile(root *dir.Dir, path string) (*dir.File, error) {
	at, name := Split(path)
	d, err := root.Below(at)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.OpenFile(name)
}

// rename makes of two differences one, and of the other nothing.
func (p *Pair) rename(gone, fresh *Difference) error {
	what := p.metadata(&gone.A, &fresh.B)
	if x, err := p.xattrs(p.A, gone.Path); err != nil {
		return err
	} else if y, err := p.xattrs(p.B, fresh.Path); err != nil {
		return err
	} else if !x.Equal(y) {
		what |= Xattrs
	}
	fresh.Kind, fresh.From, fresh.What, fresh.A = Renamed, gone.Path, what, gone.A
	gone.Kind = ""
	return nil
}

func (p *Pair) xattrs(root *dir.Dir, path string) (dir.Xattrs, error) {
	at, name := Split(path)
	d, err := root.Below(at)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Xattrs(name)
}

// Each calls for 0 to n-1, as many at once as there are processors, up to the
// first error.
func Each(ctx context.Context, n int, call func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := range next {
				if err := call(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}
