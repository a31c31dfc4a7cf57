package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os/exec"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

func quiesceVerb() *command.Verb {
	var bundlePath string
	var early bool
	return &command.Verb{
		Name:  "quiesce",
		Args:  "-- CMD [ARG…]",
		Min:   1,
		Max:   -1,
		Short: "run a command while no band changes",
		Long: `First all that was written to the mount goes to the bands; then no band changes
while CMD runs. What CMD writes to standard output is written when all went well,
and CMD's exit status is passed on.

With --early CMD starts at once and may do what does not depend on the bands; they
stand still when its standard input ends. That saves its start.

In: "store" (bundle_path); CMD gets the record on its standard input. With
--bundle, standard input is CMD's, and syncing need not wait for it. Out: what CMD
writes.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&bundlePath, "bundle", "", "the `bundle`, instead of the record's")
			fs.BoolVar(&early, "early", false, "start CMD at once; the bands stand still from the end of its input on")
		},
		Run: func(ctx context.Context, stdio command.IO, args []string) error {
			var told []string
			if bundlePath != "" {
				told = []string{bundlePath}
			}
			c := newChild(ctx, stdio, args)
			if early {
				if err := c.start(); err != nil {
					return err
				}
			}
			err := quiesce(ctx, stdio, c, told)
			if err != nil {
				c.kill()
				return err
			}
			_, err = stdio.Out.Write(c.out.Bytes())
			return err
		},
	}
}

// quiesce hands the record to the command, or all of standard input where that
// is the command's, and ends the command's input when the bands stand still.
func quiesce(ctx context.Context, stdio command.IO, c *child, told []string) error {
	in, err := readInput(ctx, stdio, told)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	if err := in.rec.Write(&line); err != nil {
		return err
	}
	input := io.Reader(&line)
	if len(told) > 0 {
		input = stdio.In
	}
	if c.in != nil {
		go c.hand(input)
	} else {
		c.Stdin = input
	}
	return selectEngine().Quiesce(ctx, in.bundle, c.finish)
}

// child is the command that runs while the bands stand still.
type child struct {
	*exec.Cmd
	name   string
	in     io.WriteCloser // of one that was started early
	handed chan struct{}  // closed when it has its input
	out    bytes.Buffer
}

func newChild(ctx context.Context, stdio command.IO, args []string) *child {
	c := &child{Cmd: sibling(ctx, args), name: args[0], handed: make(chan struct{})}
	c.Stdout, c.Stderr = &c.out, stdio.Err
	return c
}

// start starts the command early, with a pipe for its input.
func (c *child) start() (err error) {
	if c.in, err = c.StdinPipe(); err == nil {
		err = c.Start()
	}
	if err != nil {
		return status.Errorf(status.General, "quiesce: %w", err)
	}
	return nil
}

// hand gives the command its input but for the end. What is lacking, or a command
// that does not read, is the command's to judge.
func (c *child) hand(input io.Reader) {
	_, _ = io.Copy(c.in, input)
	close(c.handed)
}

// finish runs the command, or ends the input of one that was started early, and
// waits for its end.
func (c *child) finish() error {
	if c.in == nil {
		return exitOf("quiesce", c.name, c.Run())
	}
	<-c.handed
	_ = c.in.Close()
	err := c.Wait()
	c.in = nil
	return exitOf("quiesce", c.name, err)
}

// kill ends a command that was started and will not get its record.
func (c *child) kill() {
	if c.in != nil && c.Process != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}
