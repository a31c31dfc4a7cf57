package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

// bench is one run of everything.
type bench struct {
	opt     options
	size    scale
	log     io.Writer // progress
	began   time.Time
	dir     string // all that is made lies in it
	undo    undo
	results []*result
	machine machine
	many    string // what the trees hold
	few     string
	failed  bool // agentfs failed where it was measured
}

// ours begins the name of each candidate that is agentfs.
const ours = "agentfs"

// keys of all subjects, in the order in which they are measured.
var keys = []string{
	"checkpoint-many", "restore-many", "close-many", "open-many",
	"checkpoint-few", "restore-few", "close-few", "open-few",
	"diff-warm", "diff-cold", "inplace", "remount", "fork", "auto", "hook",
	"timeline", "log", "search", "blame",
	"init", "space-ext4", "space-xfs",
	"untar", "status", "warm", "cold", "random", "sealed", "append", "sequential",
}

// wanted tells whether one of these subjects is to be measured.
func (b *bench) wanted(keys ...string) bool {
	if b.opt.only == nil {
		return true
	}
	for _, part := range b.opt.only {
		if begins(keys, part) {
			return true
		}
	}
	return false
}

// check asks first whether anything can be measured here.
func (b *bench) check() error {
	if runtime.GOOS != "linux" {
		return status.Errorf(status.CannotRun, "this measures Linux")
	}
	if os.Geteuid() != 0 {
		return status.Errorf(status.CannotRun, "not root").WithHint("make bench")
	}
	if name := missing("agentfs", "agentfs-hook", "cpdb", "bundlectl", "bandclone", "treediff"); name != "" {
		return status.Errorf(status.CannotRun, "no %s on the PATH", name).WithHint("make bench")
	}
	if name := missing("git", "tar", "mkfs.ext4", "mount", "findmnt"); name != "" {
		return status.Errorf(status.CannotRun, "no %s on the PATH", name).WithHint("apt-get install git tar e2fsprogs mount util-linux")
	}
	return b.checkRoom()
}

func (b *bench) checkRoom() error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(b.opt.dir, &st); err != nil {
		return status.Errorf(status.General, "-dir %s: %w", b.opt.dir, err)
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < b.size.need {
		return status.Errorf(status.CannotRun, "%s has %s free, and %s are needed", b.opt.dir, size.Format(free), size.Format(b.size.need)).
			WithHint("name another directory with -dir, or measure less with -quick")
	}
	return nil
}

// measure makes everything and runs all subjects that are wanted.
func (b *bench) measure(ctx context.Context) error {
	if err := b.begin(ctx); err != nil {
		return err
	}
	many, few, err := b.makeTrees(ctx)
	if err != nil {
		return err
	}
	b.many, b.few = many.title, few.title
	for _, part := range []func(context.Context) error{
		func(ctx context.Context) error { return b.saving(ctx, many) },
		func(ctx context.Context) error { return b.saving(ctx, few) },
		func(ctx context.Context) error { return b.changing(ctx, many) },
		b.looking,
		b.creating,
		func(ctx context.Context) error { return b.space(ctx, many) },
		func(ctx context.Context) error { return b.inside(ctx, many) },
	} {
		if err := b.scoped(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// begin makes the directory and an environment in which nobody's settings count.
func (b *bench) begin(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp(b.opt.dir, "agentfs-bench-"); err != nil {
		return err
	}
	b.undo.push(b.dir, func() error { return removeAll(b.dir) })
	for _, pair := range []string{
		"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=1",
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@localhost", "GIT_AUTHOR_DATE=2025-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@localhost", "GIT_COMMITTER_DATE=2025-01-01T00:00:00Z",
		"TMPDIR=" + b.dir, "AGENTFS_HOME=" + filepath.Join(b.dir, "home"), "AGENTFS_STORE=", "AGENTFS_TRACE=", "AGENTFS_CHECKPOINTS_AUTO_INDEX=false",
	} {
		name, value, _ := strings.Cut(pair, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	b.machine, err = b.lookAround(ctx)
	return err
}

// scoped takes down what a part has made before the next one begins.
func (b *bench) scoped(ctx context.Context, part func(context.Context) error) error {
	mark := b.undo.mark()
	return errors.Join(part(ctx), b.undo.to(mark))
}

// settle leaves nothing to write, so that nobody pays for another's dirt. Twice,
// because what a mounted image writes is dirt of the filesystem below it.
func settle() {
	syscall.Sync()
	syscall.Sync()
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
