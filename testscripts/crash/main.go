//go:build linux

// Crash makes crash states of stores of agentfs and opens them: what was acknowledged
// before the crash must be there.
//
//	crash [-states N] [-seed S] [-only KIND[:INDEX]] [-keep DIR] [-replay DIR]
//
// A workload is recorded; of the recording crash states are made, by the kinds that the
// table names; agentfs opens each of them and is held to all claims (package check). Of
// the kinds that are controls more than half must fail, because they lose what must
// never be lost: else the checks would find nothing.
//
// A recording in which something was violated is kept, and -replay runs its states
// again, -only one of them.
//
// It needs root, and agentfs with its tools on the PATH. All of it runs in namespaces
// of its own, on a tmpfs: nothing stays, whatever happens.
//
// Exit status: 1 if anything is violated, or a control is not; 2 for bad flags; 6 where
// it cannot run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"agentfs.internal/testscripts/crash/host"
	"agentfs.internal/tool/status"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args)
	stop()
	var exit exited
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case errors.As(err, &exit):
		os.Exit(int(exit))
	case err != nil:
		fmt.Fprintln(os.Stderr, "crash:", err)
	}
	if hint := status.HintOf(err); hint != "" {
		fmt.Fprintln(os.Stderr, "hint:", hint)
	}
	os.Exit(status.Of(err))
}

// The words by which the program starts itself for a part of the work.
const (
	wordInit     = "init"     // the first process of its namespaces
	wordAll      = "all"      // everything, in there
	wordState    = "state"    // checks one state
	wordTreehash = "treehash" // hashes trees
	wordRecord   = "record"   // serves the recording filesystem
)

func run(ctx context.Context, args []string) error {
	if tool := filepath.Base(args[0]); stages[tool] {
		return stage(tool, args[1:])
	}
	word := ""
	if len(args) > 1 {
		word = args[1]
	}
	switch word {
	case wordInit:
		return initial(args[2:])
	case wordAll:
		return all(ctx, args[2], args[3:])
	case wordState:
		return checkState(ctx, args[2])
	case wordRecord:
		return host.Serve(args[2], args[3], args[4])
	case wordTreehash:
		return hashTrees(args[2:])
	}
	return outer(ctx, args[1:])
}

// outer runs everything in namespaces of its own, on a directory of its own.
func outer(ctx context.Context, args []string) error {
	opt, err := parse(args)
	if err != nil {
		return err
	}
	if err := able(); err != nil {
		return err
	}
	work, err := opt.workDir()
	if err != nil {
		return err
	}
	err = enclosed(ctx, append([]string{wordAll, work}, args...)...)
	return errors.Join(err, os.Remove(work))
}
