//go:build linux

package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"agentfs.internal/tool/status"
)

type options struct {
	states int
	seed   uint64
	only   string // kind, or kind:index
	keep   string
	replay string
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("crash", flag.ContinueOnError)
	fs.IntVar(&o.states, "states", 2000, "make `N` crash states in all")
	fs.Uint64Var(&o.seed, "seed", 1, "of the workloads and of all that is chosen")
	fs.StringVar(&o.only, "only", "", "make states of this `KIND` only, or of KIND:INDEX the one")
	fs.StringVar(&o.keep, "keep", "/var/tmp", "keep recordings in which something was violated in `DIR`")
	fs.StringVar(&o.replay, "replay", "", "record nothing, take what was kept in `DIR`")
	if err := fs.Parse(args); err != nil {
		return o, status.Errorf(status.Usage, "%w", err)
	}
	if fs.NArg() > 0 || o.states < 1 {
		return o, status.Errorf(status.Usage, "unexpected argument; see -h")
	}
	return o, nil
}

// wants tells whether states of this kind are to be made.
func (o options) wants(kind string) bool {
	name, _, _ := strings.Cut(o.only, ":")
	return name == "" || name == kind
}

// workDir makes the directory on which everything is done. What is replayed wants the
// paths at which it was recorded.
func (o options) workDir() (string, error) {
	if o.replay == "" {
		return os.MkdirTemp("", "agentfs-crash-")
	}
	m, err := readMeta(o.replay)
	if err != nil {
		return "", err
	}
	return m.Work, os.MkdirAll(m.Work, 0o700)
}

// meta is what else must be known to replay recordings.
type meta struct {
	Work string // the directory in which all was
	Seed uint64
}

const metaFile = "meta.json"

func (m meta) write(dir string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, metaFile), data, 0o600)
}

func readMeta(dir string) (m meta, err error) {
	data, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m, err
}

// tools are the programs that make up agentfs.
var tools = []string{"agentfs", "cpdb", "bundlectl", "bandclone", "treediff"}

// able asks first whether it can run here.
func able() error {
	if os.Geteuid() != 0 {
		return status.Errorf(status.CannotRun, "not root").WithHint("make crash")
	}
	for _, name := range append(tools, "cp", "e2fsck") {
		if _, err := exec.LookPath(name); err != nil {
			return status.Errorf(status.CannotRun, "no %s on the PATH", filepath.Base(name)).WithHint("make crash")
		}
	}
	return nil
}
