package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

// exportOptions are the flags of export.
type exportOptions struct {
	format, output string
	bare           bool
}

func (a *app) exportVerb() *command.Verb {
	var o exportOptions
	return &command.Verb{
		Name: "export", Args: "VERSION", Min: 1, Max: 1,
		Short: "write a checkpoint's files as one archive",
		Long: `
The archive is a tar, compressed with zstd: 'tar --zstd -xpf' unpacks it anywhere, and
'agentfs import' makes a store of it. All that the tree has is in it, and what is known
of the checkpoint goes with it: its message, its time, and why it was made. The same
checkpoint gives the same bytes, always.

It goes to standard output, which may not be a terminal, or to the file of --output.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.format, "format", "tar.zst", "`FORMAT` of the archive: tar.zst or tar")
			fs.StringVar(&o.output, "output", "", "the `FILE` to write; it appears when it is complete")
			fs.BoolVar(&o.bare, "bare", false, "the files alone, without what is known of the checkpoint")
		},
		Run: func(ctx context.Context, _ command.IO, args []string) error {
			return a.export(ctx, args[0], o)
		},
	}
}

// exported is what export --output --json shows.
type exported struct {
	Store   string `json:"store"`
	Version string `json:"version"`
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`   // of the file
	Entries int64  `json:"entries"` // names in the archive
}

func (a *app) export(ctx context.Context, v string, o exportOptions) error {
	if a.json && o.output == "" {
		return status.Errorf(status.Usage, "export: an archive cannot be --json").WithHint("agentfs export %s --output FILE --json", v)
	}
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	rec, st, cp, err := a.checkpoint(ctx, name, v)
	if err != nil {
		return err
	}
	words := []string{"treediff", "pack", treeMark, "--format", o.format}
	if !o.bare {
		words = append(words, "--origin")
	}
	if isTerminal(a.io.Err) {
		words = append(words, "--progress")
	}
	s := sides{store: st, from: cp}
	if o.output == "" {
		return a.run.Pass(ctx, rec, a.io.Out, s.aside(words...).Showing(a.io.Err))
	}
	if o.output, err = a.abs(o.output); err != nil {
		return err
	}
	if rec, err = a.run.Run(ctx, rec, s.aside(append(words, "--output", o.output)...).Showing(a.io.Err)); err != nil {
		return err
	}
	var packed record.Packed
	file, err := os.Stat(o.output)
	if err == nil {
		err = rec.Get("packed", &packed)
	}
	if err != nil {
		return err
	}
	return a.result(exported{name, version(cp.Version), o.output, file.Size(), packed.Entries},
		fmt.Sprintf("Exported %s to %s (%s)", titled(cp), visible(tilde(o.output)), size.Format(file.Size())))
}
