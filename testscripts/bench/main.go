// Bench measures agentfs beside what else could do its work, on one machine in
// one run, and keeps the tables in docs/performance.md.
//
//	bench [-quick] [-runs N] [-only KEY,…] [-dir DIR] [-out FILE]
//
// It makes all that it measures itself: trees of files, filesystems in loop-mounted
// image files, stores. The candidates of one subject take turns, A, B, C, A, B,
// C …, so that a busy minute of the machine hits all of them; the ratios are those
// of their medians. It needs root, and agentfs with its tools on the PATH.
//
// A full run takes forty minutes and 10 GB of disk. -quick measures everything thrice
// at a tenth of the size and writes no file unless -out names one; so does -only,
// whose keys -h lists.
//
// Exit status: 0 also where a row could not be measured, which the table then says;
// 1 if agentfs itself failed in one; 2 for bad flags; 6 where nothing can be measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"agentfs.internal/tool/status"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if hint := status.HintOf(err); hint != "" {
		fmt.Fprintln(os.Stderr, "hint:", hint)
	}
	os.Exit(status.Of(err))
}

func run(ctx context.Context, args []string) error {
	opt, err := parse(args)
	if err != nil {
		return err
	}
	b := &bench{opt: opt, size: opt.scale(), log: os.Stderr, began: time.Now()}
	if err := b.check(); err != nil {
		return err
	}
	err = b.measure(ctx)
	if ctx.Err() != nil {
		err = status.Errorf(status.General, "interrupted")
	}
	if err := errors.Join(err, b.undo.to(0)); err != nil {
		return err
	}
	if err := b.report(os.Stdout); err != nil {
		return err
	}
	if b.failed {
		return status.Errorf(status.General, "agentfs failed where it was measured: see the tables")
	}
	return nil
}
