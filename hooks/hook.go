package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"agentfs.internal/tool/command"
)

// hook answers one event and gives the exit status: 0 but for a worktree that could not
// be made or removed. It is the agent that waits, so it has to be quick and quiet.
func hook(name string, stdio command.IO) int {
	log := &journal{agent: name}
	return guard(log, func() int {
		e, err := readEvent(agents[name], stdio.In)
		log.event = e.name
		if err != nil {
			log.write(err)
			return 0
		}
		switch e.kind {
		case worktreeCreate, worktreeRemove:
			return worktree(e, stdio, log)
		}
		if args := e.arguments(); args != nil {
			if err := run(e.dir, nil, "agentfs", args...); err != nil {
				log.write(err)
			}
		}
		return 0
	})
}

// guard makes a line in the log of a panic.
func guard(log *journal, do func() int) (code int) {
	defer func() {
		if why := recover(); why != nil {
			log.write(fmt.Errorf("panic: %v", why))
		}
	}()
	return do()
}

// arguments are those of agentfs for an event, nil where there is nothing to do.
func (e event) arguments() []string {
	args := []string{"checkpoint", "--auto"}
	switch e.kind {
	case prompt:
		args = append(args, "--always", "--before", "--action", e.name)
	case before, after:
		if len(e.tools) == 0 {
			return nil
		}
		if e.kind == before {
			args = append(args, "--before")
		}
		args = append(args, "--tool", strings.Join(e.tools, "+"))
	case moment:
		args = append(args, "--action", e.name)
	default:
		return nil
	}
	if says := title(e.prompt); says != "" && e.kind == prompt {
		args = append(args, "--message", says, "--prompt", e.prompt)
	}
	return append(args, e.cause()...)
}

// cause is what any checkpoint for an event is told of it.
func (e event) cause() []string {
	args := []string{"--agent", e.agent.name}
	if e.session != "" {
		args = append(args, "--session", e.session)
	}
	for _, id := range append([]string{"event=" + e.name}, e.ids...) {
		args = append(args, "--meta", id)
	}
	return args
}

// run runs a program in dir. The error of one that fails is the first line that it
// said.
func run(dir string, out io.Writer, name string, args ...string) error {
	var said bytes.Buffer
	cmd := exec.Command(command.Self(name), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, &said
	cmd.WaitDelay = time.Second / 10 // for what it has left running, and its standard error
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n"); line != "" {
		return failure{line, err}
	}
	var path *exec.Error
	if errors.As(err, &path) {
		return fmt.Errorf("%s: not beside agentfs-hook and not on the PATH", name)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// failure is what a program said that failed.
type failure struct {
	words string
	error
}

func (f failure) Error() string { return f.words }
func (f failure) Unwrap() error { return f.error }
