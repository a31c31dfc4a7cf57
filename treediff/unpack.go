package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
	"agentfs.internal/treediff/internal/archive"
	"agentfs.internal/treediff/internal/dir"
)

var unpackSynced = fault.Define("treediff.unpack.synced") // all is there, durable

type unpackOptions struct {
	*pairOptions
	input             string
	devices, progress bool
}

func unpackVerb(pair *pairOptions) *command.Verb {
	o := &unpackOptions{pairOptions: pair}
	return &command.Verb{
		Name:  "unpack",
		Args:  "DIR",
		Short: "fill a directory from a tar",
		Long: `
Reads what pack writes, and the tars of others, plain or compressed with zstd or gzip.
DIR must be empty but for lost+found. Nothing is written outside of it: a name that
leads out, or through a symbolic link, is an error that names the entry, and so is a
hard link to outside. A name that comes twice is what came last. Owners are taken by
number; who is not root owns everything.

What was unpacked before an error stays.

in: the archive; out: packed, and origin where the archive has one`,
		Min: 1, Max: 1,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.input, "input", "", "the `FILE` to read (default: standard input)")
			fs.BoolVar(&o.devices, "devices", false, "make devices, too")
			fs.BoolVar(&o.progress, "progress", false, "show progress also where standard error is no terminal")
		},
		Run: o.run,
	}
}

func (o *unpackOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	if err := o.none("unpack"); err != nil {
		return err
	}
	in, err := o.open(stdio)
	if err != nil {
		return err
	}
	defer in.Close()
	u := &archive.Unpack{Devices: o.devices}
	if u.Into, err = dir.Open(args[0]); err != nil {
		return err
	}
	defer u.Into.Close()
	if err := mustBeEmpty(u.Into); err != nil {
		return err
	}
	start := time.Now()
	stop := showProgress(stdio.Err, o.progress, func() string { return progressOf("Unpacking", &u.Progress) })
	if err = u.Run(ctx, in); err == nil {
		err = u.Into.Sync()
	}
	stop()
	if err != nil {
		return err
	}
	if err := unpackSynced.Reach(); err != nil {
		return err
	}
	rec := record.New()
	if u.Origin != nil {
		if err := rec.Set("origin", u.Origin); err != nil {
			return err
		}
	}
	return writePacked(stdio.Out, rec, &u.Progress, start)
}

func (o *unpackOptions) open(stdio command.IO) (io.ReadCloser, error) {
	if o.input != "" {
		return os.Open(o.input)
	}
	if f, ok := stdio.In.(*os.File); ok && isTTY(f) {
		return nil, status.Errorf(status.Usage, "unpack: an archive does not come from a terminal").WithHint("--input FILE, or <FILE")
	}
	return io.NopCloser(stdio.In), nil
}

// mustBeEmpty refuses to mix an archive with what is there.
func mustBeEmpty(d *dir.Dir) error {
	again, err := d.Below("")
	if err != nil {
		return err
	}
	defer again.Close()
	entries, err := again.Entries()
	for _, e := range entries {
		if e.Name != "lost+found" {
			err = errors.Join(err, status.Errorf(status.General, "%s: is not empty", d.Path("")))
			break
		}
	}
	return err
}
