// Bundlectl makes disk images in bands and mounts them.
//
//	bundlectl create BUNDLE --size 50G        make a bundle with a filesystem in it
//	bundlectl attach BUNDLE --mount DIR       mount it
//	bundlectl attach --bundle BUNDLE --checkpoint DIR -- CMD {}
//	                                          run CMD on a checkpoint's tree, to be read
//	bundlectl detach BUNDLE|DIR               unmount it
//	bundlectl info BUNDLE                     its sizes, and where it is attached
//	bundlectl list                            all that is attached
//	bundlectl quiesce --bundle BUNDLE -- CMD  run CMD while no band changes
//	bundlectl changed --since DIR BUNDLE      tell whether it differs from a checkpoint
//	bundlectl files --bundle BUNDLE --checkpoint DIR BAND…
//	                                          tell what lies in bands of a checkpoint
//	bundlectl check [--repair] [BUNDLE…]      look for what keeps bundles from being used
//	bundlectl compact BUNDLE                  give unused space back to the host
//	bundlectl resize BUNDLE --size 100G       make it larger
//
// Without BUNDLE it takes the bundle from "store" of the record on standard
// input. It writes the record back with the key "image" added.
//
// Exit status: 0 done, 1 general error, 2 usage error, 5 mount or unmount
// failed, 6 this machine lacks what is needed.
package main

import (
	"context"
	"flag"
	"io"
	"path/filepath"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func main() { command.Main(root()) }

func root() *command.Verb {
	return &command.Verb{
		Name:  "bundlectl",
		Short: "Disk images in bands, mounted.",
		Verbs: []*command.Verb{createVerb(), attachVerb(), detachVerb(), infoVerb(), listVerb(),
			quiesceVerb(), changedVerb(), filesVerb(), checkVerb(), compactVerb(), resizeVerb(), serveVerb(), keepVerb()},
	}
}

// input is the record that a verb works on and the paths that it names.
type input struct {
	rec    *record.Record
	store  record.Store
	bundle string // absolute
	talk   io.Writer
}

// readInput takes the bundle from args or from the record on standard input.
func readInput(ctx context.Context, stdio command.IO, args []string) (*input, error) {
	rec, err := record.Input(ctx, stdio.In, len(args) > 0)
	if err != nil {
		return nil, err
	}
	in := &input{rec: rec, talk: stdio.Err}
	if len(args) > 0 {
		in.bundle, err = filepath.Abs(args[0])
		return in, err
	}
	if err := rec.Get("store", &in.store); err != nil {
		return nil, err
	}
	if in.bundle = in.store.BundlePath; in.bundle == "" {
		return nil, status.Errorf(status.General, `record: "store" has no "bundle_path"`)
	}
	return in, nil
}

// write writes the record with the image in it.
func (in *input) write(stdio command.IO, img *record.Image) error {
	if err := in.rec.Set("image", img); err != nil {
		return err
	}
	return in.rec.Write(stdio.Out)
}

// imageVerb is a verb that does one thing to a bundle and writes what became of
// it.
func imageVerb(v command.Verb, do func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error)) *command.Verb {
	v.Args, v.Max = "[BUNDLE]", 1
	v.Run = func(ctx context.Context, stdio command.IO, args []string) error {
		in, err := readInput(ctx, stdio, args)
		if err != nil {
			return err
		}
		img, err := do(ctx, selectEngine(), in)
		if err != nil {
			return err
		}
		return in.write(stdio, img)
	}
	return &v
}

// mountFlag registers --mount.
func mountFlag(fs *flag.FlagSet, into *string) {
	fs.StringVar(into, "mount", "", "mountpoint: an empty `dir`ectory, made if it is missing")
}
