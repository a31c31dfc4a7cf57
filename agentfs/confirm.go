package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/status"
)

// confirm asks on standard error and reads the answer from standard input. All
// but yes, the end of the input too, is no and ends the command.
func (a *app) confirm(ctx context.Context, format string, args ...any) error {
	if a.force {
		return nil
	}
	fmt.Fprintf(a.io.Err, format+" [y/N] ", args...)
	answer, err := a.answer(ctx)
	if !strings.HasSuffix(answer, "\n") {
		fmt.Fprintln(a.io.Err) // the question's line is still open
	}
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	fmt.Fprintln(a.io.Err, "Cancelled")
	return status.Errorf(status.General, "")
}

// answer reads one line. A signal ends the waiting, not the reading: the process
// ends soon after.
func (a *app) answer(ctx context.Context) (string, error) {
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(a.io.In).ReadString('\n')
		line <- text
	}()
	select {
	case text := <-line:
		return text, nil
	case <-ctx.Done():
		return "", pipeline.ErrInterrupted
	}
}
