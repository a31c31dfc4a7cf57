package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

// initOptions are the flags of init.
type initOptions struct{ size, mount, from string }

// plan is a store that is to be made. Its paths are absolute and free of
// symbolic links.
type plan struct {
	name   string
	mount  string
	fresh  bool // the mountpoint does not exist yet
	bundle string
	size   int64
	from   string // directory to copy in, "" for none
	full   bool   // it comes with files of its own
	added  bool   // there is a row of it
}

// plan works out what init is asked to make.
func (a *app) plan(arg string, o initOptions) (p plan, err error) {
	cfg, err := a.readConfig()
	if err != nil {
		return p, err
	}
	if err := a.place(&p, arg, o.mount, cfg.mountBase); err != nil {
		return p, err
	}
	if err := checkName(p.name); err != nil {
		return p, err
	}
	p.bundle = filepath.Join(cfg.basePath, p.name, p.name+".sparsebundle")
	if p.size = cfg.size; o.size != "" {
		if p.size, err = size.Parse(o.size); err != nil {
			return p, status.Errorf(status.Usage, "init: --size: %w", err)
		}
	}
	return p, a.checkSource(&p, o.from)
}

// place finds name and mountpoint. An argument that is a path says both.
func (a *app) place(p *plan, arg, mount, base string) (err error) {
	if p.name = arg; isPath(arg) {
		if arg, err = a.abs(arg); err != nil {
			return err
		}
		p.name = filepath.Base(arg)
	} else if base != "" {
		arg = filepath.Join(base, arg)
	}
	if mount != "" {
		arg = mount
	}
	p.mount, err = a.abs(arg)
	p.mount = physical(p.mount)
	return err
}

func isPath(arg string) bool {
	return strings.ContainsRune(arg, '/') || arg == "." || arg == ".." || arg == "~"
}

// checkSource looks at the directory that is to be copied in.
func (a *app) checkSource(p *plan, from string) (err error) {
	if from == "" {
		return nil
	}
	if p.from, err = a.abs(from); err != nil {
		return err
	}
	p.from = physical(p.from)
	st, err := os.Stat(p.from)
	switch {
	case err != nil:
		return status.Errorf(status.General, "init: --from: %w", err)
	case !st.IsDir():
		return status.Errorf(status.General, "init: --from: %s: not a directory", p.from)
	case within(p.mount, p.from):
		return status.Errorf(status.Mount, "mountpoint %s is inside of %s, which is to be copied in", p.mount, p.from).
			WithHint("choose another one with --mount")
	}
	return nil
}

// checkMountpoint refuses a mountpoint that would hide files or lie in the home
// directory, before anything is made.
func (a *app) checkMountpoint(p *plan) error {
	if home := physical(a.home); within(p.mount, home) || within(p.mount, filepath.Dir(p.bundle)) {
		return status.Errorf(status.Mount, "mountpoint %s is inside of %s, where the stores are kept", p.mount, home).
			WithHint("choose another one with --mount")
	}
	entries, err := os.ReadDir(p.mount)
	if p.fresh = errors.Is(err, fs.ErrNotExist); p.fresh {
		return nil
	}
	if err != nil {
		return status.Errorf(status.Mount, "mountpoint: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if p.full {
		return status.Errorf(status.Mount, "mountpoint %s is not empty", p.mount).WithHint("choose another one with --mount")
	}
	return status.Errorf(status.Mount, "mountpoint %s is not empty", p.mount).WithHint("to bring its files in: %s", bringIn(p))
}

// refuseForeign refuses to make a store where there is one that the database does not
// know: that of another home with the same base_path, or one whose database is lost.
// What is made is removed where that fails, and this must not be.
func (p *plan) refuseForeign() error {
	dir := filepath.Dir(p.bundle)
	for _, path := range []string{p.bundle, filepath.Join(dir, "checkpoints")} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return status.Errorf(status.General, "%s holds a store that is not in the database", visible(tilde(dir))).
				WithHint("choose another name, or move it away")
		}
	}
	return nil
}

// bringIn gives the commands that turn a directory of files into a store.
func bringIn(p *plan) string {
	old := p.mount + ".orig"
	return pipeline.CommandLine([]string{"mv", p.mount, old}) + " && " +
		pipeline.CommandLine([]string{"agentfs", "init", p.name, "--mount", p.mount, "--from", old})
}
