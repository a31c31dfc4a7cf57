package main

import (
	"cmp"
	"flag"
	"os"
	"strings"
	"time"

	"agentfs.internal/tool/status"
)

type options struct {
	dir   string   // where everything is made
	out   string   // "" for none
	only  []string // keys of subjects; none for all
	runs  int
	quick bool
}

const performanceFile = "docs/performance.md"

func parse(args []string) (options, error) {
	var o options
	var only string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.BoolVar(&o.quick, "quick", false, "a tenth of the size, 3 runs: shows that it works, not how fast it is")
	fs.IntVar(&o.runs, "runs", 0, "measure each candidate `N` times (default 10)")
	fs.StringVar(&only, "only", "", "measure the subjects that begin with one of these `KEYS`: "+strings.Join(keys, ", "))
	fs.StringVar(&o.dir, "dir", "", "work in `DIR`, on the disk to be measured (default $TMPDIR or /var/tmp)")
	fs.StringVar(&o.out, "out", "", "write the page to `FILE` (default "+performanceFile+", of a full run only)")
	if err := fs.Parse(args); err != nil {
		return o, status.Errorf(status.Usage, "%w", err)
	}
	if fs.NArg() > 0 || o.runs < 0 {
		return o, status.Errorf(status.Usage, "unexpected argument; see -h")
	}
	return o, o.complete(only)
}

// complete fills in what was not said.
func (o *options) complete(only string) error {
	o.dir = cmp.Or(o.dir, os.Getenv("TMPDIR"), "/var/tmp")
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	for _, key := range o.only {
		if !begins(keys, key) {
			return status.Errorf(status.Usage, "-only %s: no such subject", key).WithHint("one of %s", strings.Join(keys, ", "))
		}
	}
	if o.out == "" && !o.quick && o.only == nil {
		o.out = performanceFile
	}
	if o.runs == 0 {
		o.runs = 10
		if o.quick {
			o.runs = 3
		}
	}
	return nil
}

// begins tells whether one of the keys begins with part.
func begins(keys []string, part string) bool {
	for _, key := range keys {
		if strings.HasPrefix(key, part) {
			return true
		}
	}
	return false
}

// scale is how large everything is.
type scale struct {
	need       int64 // free bytes on the disk
	image      string
	calm       time.Duration // before each run: work that a run left to later is over
	files      int           // in the tree of many files
	few        int           // in the tree of few files with the same bytes
	bytes      int64         // in each of them
	random     int64         // of the file that is written at random
	written    int64         // of it, in one run
	appends    int           // in one run
	sequential int64
	history    int // checkpoints of the long history
}

func (o options) scale() scale {
	if o.quick {
		return scale{need: 2 << 30, image: "2G", calm: 0, files: 3000, few: 100, bytes: 60e6,
			random: 32 << 20, written: 2 << 20, appends: 64, sequential: 128 << 20, history: 200}
	}
	return scale{need: 10 << 30, image: "12G", calm: 300 * time.Millisecond, files: 36000, few: 1000, bytes: 626e6,
		random: 256 << 20, written: 16 << 20, appends: 512, sequential: 1 << 30, history: 10000}
}
