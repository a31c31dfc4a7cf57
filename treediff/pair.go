package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"agentfs.internal/tool/status"
	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/inodes"
	"agentfs.internal/treediff/internal/trees"
)

// pairOptions are the flags that go with two trees.
type pairOptions struct {
	oneImage bool
	parted   time.Time
	changed  string
	alone    func() string // names a flag that was given and is not for verbs, or ""
}

func (o *pairOptions) flags(fs *flag.FlagSet) {
	fs.BoolVar(&o.oneImage, "one-image", false, "A and B come from one filesystem image")
	fs.StringVar(&o.changed, "changed", "", "with --one-image: a `file` with the numbers of the inodes that may have changed")
	fs.Func("parted", "with --one-image: the `TIME` at which they parted (RFC 3339)", func(s string) (err error) {
		o.parted, err = time.Parse(time.RFC3339Nano, s)
		return err
	})
}

// open opens the two trees that are the first two arguments; the others are paths.
func (o *pairOptions) open(args []string) (*trees.Pair, error) {
	if (!o.parted.IsZero() || o.changed != "") && !o.oneImage {
		return nil, status.Errorf(status.Usage, "--parted and --changed need --one-image")
	}
	changed, err := o.inodes()
	if err != nil {
		return nil, err
	}
	paths, err := trees.CleanPaths(args[2:])
	if err != nil {
		return nil, err
	}
	p := &trees.Pair{OneImage: o.oneImage, Parted: o.parted, Changed: changed, Paths: paths}
	if p.A, err = dir.Open(args[0]); err != nil {
		return nil, err
	}
	if p.B, err = dir.Open(args[1]); err != nil {
		p.A.Close()
		return nil, err
	}
	return p, nil
}

// inodes reads the list of --changed; nil where there is none.
func (o *pairOptions) inodes() (*inodes.Set, error) {
	if o.changed == "" {
		return nil, nil
	}
	f, err := os.Open(o.changed)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	set, err := inodes.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.changed, err)
	}
	return set, nil
}

func closePair(p *trees.Pair) {
	p.A.Close()
	p.B.Close()
}

// tellMounts says what was left out.
func tellMounts(w io.Writer, mounts []string) {
	tellSome(w, mounts, "left out, something is mounted there")
}

// tellSome writes one line about some paths, naming the first.
func tellSome(w io.Writer, paths []string, what string) {
	switch len(paths) {
	case 0:
	case 1:
		fmt.Fprintf(w, "treediff: %s: %s\n", what, shown(paths[0]))
	default:
		fmt.Fprintf(w, "treediff: %s: %s and %d more\n", what, shown(paths[0]), len(paths)-1)
	}
}
