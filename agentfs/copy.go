package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/size"
)

// copyIn copies what is in a directory into a new mount, by descriptors: whoever puts
// links in the way meanwhile cannot have anything copied that is not below it. Where
// that takes longer than a second, people see that it goes on.
func (a *app) copyIn(ctx context.Context, from, to string) error {
	done := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		a.progress(to, done)
	}()
	err := a.run.Exec(ctx, nil, pipeline.Tool("treediff", "apply", from, to))
	close(done)
	<-gone
	return err
}

// progress tells on a terminal how much there is in a mount by now.
func (a *app) progress(mount string, done <-chan struct{}) {
	if !isTerminal(a.io.Err) {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	start, shown := spaceUsed(mount), false
	for {
		select {
		case <-tick.C:
			fmt.Fprintf(a.io.Err, "\rCopying files... %-8s", size.Format(max(0, spaceUsed(mount)-start)))
			shown = true
		case <-done:
			if shown {
				fmt.Fprintln(a.io.Err)
			}
			return
		}
	}
}

func spaceUsed(mount string) int64 {
	var st syscall.Statfs_t
	if syscall.Statfs(mount, &st) != nil {
		return 0
	}
	return int64(st.Blocks-st.Bfree) * int64(st.Bsize)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
