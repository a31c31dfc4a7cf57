package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// How long work may take without a word, and how often it tells.
const (
	patience = time.Second
	interval = 200 * time.Millisecond
)

// showProgress shows on a terminal, or wherever it is forced to, how far the work is, until
// the function is called that it gives. As long as there is nothing to tell, text is "".
func showProgress(w io.Writer, forced bool, text func() string) (stop func()) {
	if !forced && !isTerminal(w) {
		return func() {}
	}
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		shown := false
		for wait := patience; ; wait = interval {
			select {
			case <-time.After(wait):
				if line := text(); line != "" {
					fmt.Fprintf(w, "\r%s", line)
					shown = true
				}
			case <-quit:
				if shown {
					fmt.Fprintf(w, "\r%s\n", text())
				}
				return
			}
		}
	})
	return func() {
		close(quit)
		done.Wait()
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
