package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// The marks that stand in CMD for the directory of a checkpoint's tree, and for the
// list of the inodes that have changed.
const (
	treeMark    = "{}"
	changedMark = "{changed}"
)

// aside is an attach of checkpoints for the time of one command.
type aside struct {
	bundle      string
	checkpoints []string
	parted      string
	cmd         []string
}

// withCheckpoints gives the verb that attaches a bundle what it does with
// --checkpoint.
func withCheckpoints(v *command.Verb, a *aside) *command.Verb {
	v.Args, v.Max = "[BUNDLE] | --checkpoint DIR -- CMD [ARG…]", -1
	attach := v.Run
	v.Run = func(ctx context.Context, stdio command.IO, args []string) error {
		switch {
		case len(a.checkpoints) > 0 && len(args) == 0:
			return status.Errorf(status.Usage, "attach: --checkpoint needs a command").WithHint("bundlectl attach --checkpoint DIR -- ls %s", treeMark)
		case len(a.checkpoints) > 0:
			a.cmd = args
			return a.run(ctx, stdio)
		case len(args) > 1:
			return status.Errorf(status.Usage, "attach: unexpected argument %q", args[1]).WithHint("bundlectl attach -h")
		case a.bundle != "":
			return status.Errorf(status.Usage, "attach: --bundle goes with --checkpoint").WithHint("bundlectl attach %s --mount DIR", a.bundle)
		}
		return attach(ctx, stdio, args)
	}
	return v
}

// run attaches the checkpoints and runs the command.
func (a *aside) run(ctx context.Context, stdio command.IO) error {
	input, err := a.complete(ctx, stdio)
	if err != nil {
		return err
	}
	if marks := len(a.marks()); marks != len(a.checkpoints) {
		return status.Errorf(status.Usage, "attach: %d checkpoints and %d %s in the command", len(a.checkpoints), marks, treeMark).
			WithHint("each %s stands for one checkpoint's tree: bundlectl attach --checkpoint DIR -- ls %s", treeMark, treeMark)
	}
	p := engine.AsideParams{Checkpoints: a.checkpoints, Changed: slices.Contains(a.cmd, changedMark)}
	if a.parted != "" {
		if p.Parted, err = time.Parse(time.RFC3339Nano, a.parted); err != nil {
			return status.Errorf(status.Usage, "attach: bad --parted %q", a.parted).WithHint("as in 2026-01-27T10:32:15.123Z")
		}
	}
	return selectEngine().Aside(ctx, a.bundle, p, func(v *engine.View) error {
		return a.exec(ctx, stdio, input, v)
	})
}

// fromRecord stands for the checkpoint of the record.
const fromRecord = "-"

// complete takes from the record on standard input what was not told; the command
// gets that record then. If all was told, standard input is the command's.
func (a *aside) complete(ctx context.Context, stdio command.IO) (io.Reader, error) {
	if a.bundle != "" && !slices.Contains(a.checkpoints, fromRecord) {
		return stdio.In, a.resolve()
	}
	in, err := readInput(ctx, stdio, nil)
	if err != nil {
		return nil, err
	}
	if a.bundle == "" {
		a.bundle = in.bundle
	}
	for i, dir := range a.checkpoints {
		if dir != fromRecord {
			continue
		}
		var cp record.Checkpoint
		if err := in.rec.Get("checkpoint", &cp); err != nil {
			return nil, err
		}
		a.checkpoints[i] = cp.Dir
	}
	var line bytes.Buffer
	return &line, errors.Join(in.rec.Write(&line), a.resolve())
}

// resolve makes the paths absolute: the server stands elsewhere.
func (a *aside) resolve() (err error) {
	for i := range a.checkpoints {
		if a.checkpoints[i], err = filepath.Abs(a.checkpoints[i]); err != nil {
			return err
		}
	}
	a.bundle, err = filepath.Abs(a.bundle)
	return err
}

// marks gives the places of the marks among the command's words: a whole word or
// the start of a path.
func (a *aside) marks() []int {
	var at []int
	for i, word := range a.cmd {
		if word == treeMark || strings.HasPrefix(word, treeMark+"/") {
			at = append(at, i)
		}
	}
	return at
}

// exec runs the command, with the paths in it.
func (a *aside) exec(ctx context.Context, stdio command.IO, input io.Reader, v *engine.View) error {
	// The store's lock is held as long as the command goes on: it may be what the
	// lock is for.
	files := heldLock()
	inherit := func(f *os.File) string {
		files = append(files, f)
		return fmt.Sprintf("/proc/self/fd/%d", 2+len(files))
	}
	words, marks := slices.Clone(a.cmd), a.marks()
	for i, t := range v.Trees {
		path := t.Path
		if t.Root != nil {
			path = inherit(t.Root)
		}
		words[marks[i]] = path + strings.TrimPrefix(words[marks[i]], treeMark)
	}
	if v.Keep != nil {
		inherit(v.Keep)
	}
	if at := slices.Index(words, changedMark); at >= 0 {
		words[at] = v.Changed.Name()
		if !filepath.IsAbs(words[at]) {
			words[at] = inherit(v.Changed)
		}
	}
	cmd := sibling(ctx, words)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = input, stdio.Out, stdio.Err, files
	return exitOf("attach", a.cmd[0], cmd.Run())
}

// heldLock gives the descriptor of the lock that agentfs has handed down, if any.
func heldLock() []*os.File {
	if os.Getenv("AGENTFS_LOCK_FD") != "3" {
		return nil
	}
	return []*os.File{os.NewFile(3, "lock")}
}
