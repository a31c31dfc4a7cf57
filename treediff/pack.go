package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
	"agentfs.internal/treediff/internal/archive"
	"agentfs.internal/treediff/internal/dir"
)

var (
	packWritten = fault.Define("treediff.pack.written") // the archive is there, under a temporary name
	packRenamed = fault.Define("treediff.pack.renamed") // under its own
)

type packOptions struct {
	*pairOptions
	format, output   string
	origin, progress bool
}

func packVerb(pair *pairOptions) *command.Verb {
	o := &packOptions{pairOptions: pair}
	return &command.Verb{
		Name:  "pack",
		Args:  "TREE",
		Short: "write a tree as one stream: a tar",
		Long: `
A pax tar, with all that a tree has: modes, owners, times to the nanosecond, extended
attributes with access control lists, hard links, holes, empty directories, FIFOs,
devices, names of any bytes. "tar --zstd -xf" unpacks it. Sockets are left out, and
named on standard error, as is what is mounted in the tree.

The same tree gives the same bytes, whenever and wherever.

With --origin the checkpoint of the record on standard input goes with it, as a
comment. It is written to standard output, which may not be a terminal, or with
--output to a file, which appears when it is complete.

in: nothing, or with --origin store, checkpoint; out: the archive, or with --output
packed`,
		Min: 1, Max: 1,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.format, "format", archive.Formats[0], "`FORMAT` of the archive: "+strings.Join(archive.Formats, " or "))
			fs.StringVar(&o.output, "output", "", "the `FILE` to write")
			fs.BoolVar(&o.origin, "origin", false, "write into it what the record says of the checkpoint")
			fs.BoolVar(&o.progress, "progress", false, "show progress also where standard error is no terminal")
		},
		Run: o.run,
	}
}

func (o *packOptions) run(ctx context.Context, stdio command.IO, args []string) error {
	if err := o.check(stdio); err != nil {
		return err
	}
	p := &archive.Pack{Format: o.format}
	var err error
	if p.Origin, err = o.readOrigin(ctx, stdio); err != nil {
		return err
	}
	if p.Tree, err = dir.Open(args[0]); err != nil {
		return err
	}
	defer p.Tree.Close()
	start := time.Now()
	stop := showProgress(stdio.Err, o.progress, func() string { return progressOf("Packing", &p.Progress) })
	err = o.write(stdio.Out, func(w io.Writer) error { return p.Run(ctx, w) })
	stop()
	if err != nil {
		return err
	}
	tellMounts(stdio.Err, p.Mounts)
	tellSome(stdio.Err, p.Sockets, "left out, a tar has no sockets")
	if o.output == "" {
		return nil
	}
	return writePacked(stdio.Out, record.New(), &p.Progress, start)
}

// check refuses what cannot be done, before anything is.
func (o *packOptions) check(stdio command.IO) error {
	if err := o.none("pack"); err != nil {
		return err
	}
	if !isFormat(o.format) {
		return status.Errorf(status.Usage, "pack: unknown format %q", o.format).WithHint("--format %s", strings.Join(archive.Formats, " or "))
	}
	if f, ok := stdio.Out.(*os.File); ok && o.output == "" && isTTY(f) {
		return status.Errorf(status.Usage, "pack: an archive is nothing for a terminal").WithHint("--output FILE, or >FILE")
	}
	return nil
}

func isFormat(name string) bool {
	for _, f := range archive.Formats {
		if f == name {
			return true
		}
	}
	return false
}

// isTTY tells a terminal from other devices: into /dev/null one may pack.
func isTTY(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// readOrigin makes of the record what travels with the archive; nil without --origin.
func (o *packOptions) readOrigin(ctx context.Context, stdio command.IO) (*record.Origin, error) {
	if !o.origin {
		return nil, nil
	}
	rec, err := record.Input(ctx, stdio.In, false)
	if err != nil {
		return nil, err
	}
	var s record.Store
	var c record.Checkpoint
	if err := errors.Join(rec.Get("store", &s), rec.Get("checkpoint", &c)); err != nil {
		return nil, err
	}
	return &record.Origin{Store: s.Name, Version: c.Version, Message: c.Message, CreatedAt: c.CreatedAt.UTC(), Causality: c.Causality}, nil
}

// write has the archive written to where it is to go.
func (o *packOptions) write(out io.Writer, pack func(io.Writer) error) (err error) {
	if o.output == "" {
		return pack(out)
	}
	at, name := filepath.Split(filepath.Clean(o.output))
	if at == "" {
		at = "."
	}
	f, err := os.CreateTemp(at, "."+name+".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := errors.Join(pack(f), f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := packWritten.Reach(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), o.output); err != nil {
		return err
	}
	if err := packRenamed.Reach(); err != nil {
		return err
	}
	return syncDir(at)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// progressOf says how far an archive is.
func progressOf(doing string, p *archive.Progress) string {
	return fmt.Sprintf("%s... %d files, %s", doing, p.Entries.Load(), size.Format(p.Bytes.Load()))
}

// writePacked writes the record of what was packed or unpacked.
func writePacked(out io.Writer, rec *record.Record, p *archive.Progress, start time.Time) error {
	if err := rec.Set("packed", record.Packed{
		Entries: p.Entries.Load(), Bytes: p.Bytes.Load(),
		DurationMS: float64(time.Since(start).Microseconds()) / 1000,
	}); err != nil {
		return err
	}
	return rec.Write(out)
}
