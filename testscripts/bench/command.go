package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// program is a command line and where it runs.
type program struct {
	dir  string
	env  []string // on top of ours
	args []string
	in   string // file for its standard input; "" for none
	out  string // file for its standard output; "" for none
}

func sh(dir, script string) program {
	return program{dir: dir, args: []string{"sh", "-ec", script}}
}

// run runs it to its end. Its output goes to files and not to pipes: a server that
// it leaves behind would hold a pipe open.
func (p program) run(ctx context.Context) error {
	words, err := os.CreateTemp("", "bench-*")
	if err != nil {
		return err
	}
	defer words.Close()
	defer os.Remove(words.Name())
	cmd := p.command(ctx)
	cmd.Stderr = words
	if p.in != "" {
		in, err := os.Open(p.in)
		if err != nil {
			return err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	if p.out != "" {
		out, err := os.Create(p.out)
		if err != nil {
			return err
		}
		defer out.Close()
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(p.args, " "), err, tail(words.Name()))
	}
	return nil
}

func (p program) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	// Ctrl-C is for us alone; what is to end is told so by its context.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// tail gives the last words of a program that failed, in one line.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(text[max(0, len(text)-500):])), " ")
}

// needing makes a candidate absent where its program is not there.
func needing(name string, c candidate) candidate {
	if missing(name) != "" {
		return candidate{name: c.name, absent: fmt.Sprintf("no %s (apt-get install %[1]s)", name)}
	}
	return c
}

// missing names the first of these programs that is not there.
func missing(names ...string) string {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return name
		}
	}
	return ""
}
