package bands

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Differ gives the numbers, in order, of the bands that read differently in the
// two sets; with quick it stops at the first that it finds.
func Differ(ctx context.Context, a, b *Set, quick bool) ([]uint64, error) {
	var open []uint64
	_ = Pairs(a, b, func(p Pair) error {
		if a.Dev != b.Dev || !p.SameFile() {
			open = append(open, p.Num)
		}
		return nil
	})
	differ := make([]bool, len(open))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.NumCPU(), len(open)) {
		group.Go(func() {
			c := NewComparer(a.Dir, b.Dir)
			for i := next.Add(1) - 1; i < int64(len(open)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				same, err := c.Equal(open[i])
				differ[i] = err == nil && !same
				if err != nil || differ[i] && quick {
					stop(err)
				}
			}
		})
	}
	group.Wait()
	return chosen(open, differ), verdict(ctx, quick, differ)
}

func chosen(nums []uint64, want []bool) []uint64 {
	var list []uint64
	for i, num := range nums {
		if want[i] {
			list = append(list, num)
		}
	}
	return list
}

// verdict is why the comparison ended early, nil if it may: a difference was
// found and one is enough.
func verdict(ctx context.Context, quick bool, differ []bool) error {
	if quick {
		for _, d := range differ {
			if d {
				return nil
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
