package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

// sibling prepares a command that a verb was given: one of our tools is the one
// beside this binary.
func sibling(ctx context.Context, args []string) *exec.Cmd {
	name := args[0]
	if !strings.ContainsRune(name, os.PathSeparator) {
		name = command.Self(name)
	}
	return exec.CommandContext(ctx, name, args[1:]...)
}

// exitOf passes the status of a command on, which has said itself what was wrong.
func exitOf(verb, name string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return status.Errorf(exit.ExitCode(), "")
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", verb, name, err)
	}
	return nil
}
