package main

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/peterbourgon/ff/v3"
	"github.com/peterbourgon/ff/v3/fftoml"

	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

// config is what config.toml in the home directory sets. The table hooks is read
// by other tools; here it is only checked.
type config struct {
	basePath  string // where new stores lie
	mountBase string // where new stores are mounted, "" for the current directory
	size      int64  // of new stores, in bytes
	autoPrune bool   // after each checkpoint
	keepCount uint   // checkpoints, neither named nor pinned, that are kept then; never 0
}

// readConfig reads config.toml, which need not exist.
func (a *app) readConfig() (config, error) {
	c := config{basePath: filepath.Join(a.home, "stores"), size: 50 << 30, keepCount: 100}
	file := filepath.Join(a.home, "config.toml")
	fs := a.configKeys(&c)
	var wrong error // ff wraps it in words of its own
	parse := func(r io.Reader, set func(name, value string) error) error {
		return fftoml.New().Parse(r, func(key, value string) error {
			if fs.Lookup(key) == nil {
				wrong = status.Errorf(status.Usage, "%s: unknown key %q", file, key)
			} else if err := set(key, value); err != nil {
				wrong = status.Errorf(status.Usage, "%s: bad value %q for %q", file, value, key)
			}
			return wrong
		})
	}
	err := ff.Parse(fs, nil, ff.WithConfigFile(file), ff.WithConfigFileParser(parse), ff.WithAllowMissingConfigFile(true))
	if wrong != nil {
		return c, wrong
	}
	if err != nil {
		return c, status.Errorf(status.Usage, "%s: %w", file, err)
	}
	return c, nil
}

// configKeys names all keys as "table.key" and says where their values go.
func (a *app) configKeys(c *config) *flag.FlagSet {
	fs := flag.NewFlagSet("config.toml", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Func("stores.base_path", "", a.pathInto(&c.basePath))
	fs.Func("stores.default_mount_base", "", a.pathInto(&c.mountBase))
	fs.Func("stores.default_size", "", func(s string) (err error) {
		c.size, err = size.Parse(s)
		return err
	})
	fs.BoolVar(&c.autoPrune, "checkpoints.auto_prune", true, "")
	fs.Func("checkpoints.keep_count", "", func(s string) error {
		n, err := strconv.ParseUint(s, 10, 31)
		if err == nil && n == 0 {
			err = fmt.Errorf("the one just made would go")
		}
		c.keepCount = uint(n)
		return err
	})
	fs.Bool("hooks.claude_code", false, "")
	fs.Func("hooks.checkpoint_on", "", func(string) error { return nil })
	fs.Duration("hooks.min_interval", 0, "")
	return fs
}

// pathInto takes a path from the root or from ~: where agentfs is called must
// not change what the file means.
func (a *app) pathInto(to *string) func(string) error {
	return func(s string) error {
		if !filepath.IsAbs(s) && s != "~" && !strings.HasPrefix(s, "~/") {
			return fmt.Errorf("not an absolute path")
		}
		path, err := a.abs(s)
		*to = physical(path)
		return err
	}
}
