package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"agentfs.internal/tool/status"
)

// host is a filesystem to work on.
type host struct {
	dir    string
	absent string // why it could not be made; "" if it stands
}

// on makes a candidate of this host absent where the host is.
func (h host) on(c candidate) candidate {
	if h.absent != "" {
		return candidate{name: c.name, absent: h.absent}
	}
	return c
}

// mkfs by filesystem. Nothing is left to initialise later: ext4 would write zeros
// for minutes, and disturb what is measured.
var mkfs = map[string]struct{ command, packages string }{
	"ext4":  {"mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0", "e2fsprogs"},
	"xfs":   {"mkfs.xfs -q -m reflink=1", "xfsprogs"},
	"btrfs": {"mkfs.btrfs -q", "btrfs-progs"},
}

// newHost makes a filesystem in an image file and mounts it by loop, as losetup
// does without options. What stands in the way is no error: its rows are left out.
func (b *bench) newHost(ctx context.Context, name, fstype string) (host, error) {
	dir, err := b.mountImage(ctx, name, fstype)
	if ctx.Err() != nil {
		return host{}, ctx.Err()
	}
	if err == nil {
		return host{dir: dir}, nil
	}
	b.say("no %s: %v", fstype, err)
	h := host{absent: err.Error()}
	if hint := status.HintOf(err); hint != "" {
		h.absent += " (" + hint + ")"
	}
	return h, nil
}

func (b *bench) mountImage(ctx context.Context, name, fstype string) (dir string, err error) {
	how := mkfs[fstype]
	prog, _, _ := strings.Cut(how.command, " ")
	if missing(prog) != "" {
		return "", status.Errorf(status.CannotRun, "no %s", prog).WithHint("apt-get install %s", how.packages)
	}
	dir = filepath.Join(b.dir, name)
	image := dir + ".img"
	b.undo.push(image, func() error { return os.RemoveAll(image) })
	if err := sh(b.dir, fmt.Sprintf("truncate -s %s %s; %s %s", b.size.image, image, how.command, image)).run(ctx); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	mount := program{args: []string{"mount", "-t", fstype, "-o", "loop,noatime,discard", image, dir}}
	if err := mount.run(ctx); err != nil {
		return "", err
	}
	b.undo.push(dir, func() error { return unmount(dir) })
	return dir, nil
}

// unmount works after Ctrl-C too.
func unmount(dir string) error {
	if !mounted(dir) {
		return nil
	}
	return program{args: []string{"umount", dir}}.run(context.Background())
}

// mounted: a filesystem of its own begins there.
func mounted(dir string) bool {
	inner, err := device(dir)
	if err != nil {
		return false
	}
	outer, err := device(filepath.Dir(dir))
	return err == nil && inner != outer
}

func device(path string) (uint64, error) {
	var st syscall.Stat_t
	err := syscall.Stat(path, &st)
	return uint64(st.Dev), err
}
