package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"syscall"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func attachVerb() *command.Verb {
	var mount string
	var newUUID bool
	var a aside
	v := imageVerb(command.Verb{
		Name:  "attach",
		Short: "mount a bundle's filesystem, or look into a checkpoint",
		Long: `Returns when the mount can be used. What a killed server or a crash has left is
cleared away first, and the filesystem's journal replayed.

--new-uuid is for an image that began as a copy of another one: some programs tell
filesystems apart by it. Where the kernel cannot do it, that is a warning.

With --checkpoint nothing is mounted where others could see it: CMD runs, and {}
in it, a word or the start of one, is the directory of the checkpoint's tree, to
be read. The checkpoint's bands are not written; the journal's replay goes to
memory. All of it ends with CMD and what CMD has started, however they end. CMD's
exit status is passed on. With two checkpoints the second {} is the second one's.

A word {changed} is a file with the numbers of the inodes that may differ between
the two checkpoints, or between the one and the mounted bundle: "12" or "12-40" a
line, or "all". --parted tells when the two parted, at the earliest: what was
changed in that moment is in the list too.

  bundlectl attach --bundle myapp.sparsebundle --checkpoint checkpoints/v3 -- ls {}/src

In: "store" (bundle_path, mount_path); with --bundle and --checkpoint DIR standard
input is CMD's, else CMD gets the record. Out: "image"; what CMD writes.`,
		Flags: func(fs *flag.FlagSet) {
			mountFlag(fs, &mount)
			fs.BoolVar(&newUUID, "new-uuid", false, "give the filesystem a UUID of its own (ext4 only)")
			fs.StringVar(&a.bundle, "bundle", "", "with --checkpoint: the `bundle` it belongs to, instead of the record's")
			fs.StringVar(&a.parted, "parted", "", "with {changed}: `time` at which the trees parted, RFC 3339")
			fs.Func("checkpoint", "`dir`ectory of a checkpoint's bands, - for the record's; may be repeated", func(dir string) error {
				a.checkpoints = append(a.checkpoints, dir)
				return nil
			})
		},
	}, func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error) {
		if mount == "" {
			mount = in.store.MountPath
		}
		if mount == "" {
			return nil, status.Errorf(status.Usage, "attach: no mountpoint").WithHint("--mount DIR")
		}
		abs, err := filepath.Abs(mount)
		if err != nil {
			return nil, err
		}
		img, err := e.Attach(ctx, in.bundle, abs)
		if err != nil || !newUUID {
			return img, err
		}
		err = e.NewUUID(abs)
		if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) {
			// Not the wish is at fault but the filesystem: its first write has failed.
			_, e := e.Detach(context.WithoutCancel(ctx), in.bundle)
			return nil, errors.Join(err, e)
		}
		if err != nil {
			fmt.Fprintf(in.talk, "bundlectl: attach: %v: the filesystem keeps the UUID of the one it was copied from\n", err)
		}
		return img, nil
	})
	return withCheckpoints(v, &a)
}
