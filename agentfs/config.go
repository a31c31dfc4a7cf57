package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

// config is what config.toml in the home directory sets.
type config struct {
	basePath     string          // where new stores lie
	mountBase    string          // where new stores are mounted, "" for the current directory
	size         int64           // of new stores, in bytes
	autoPrune    bool            // after each checkpoint
	keepCount    uint            // checkpoints, neither named nor pinned, that are kept then; never 0
	autoIndex    bool            // list the changes of each checkpoint in the background
	autoSum      bool            // write down in the background what the bands of each checkpoint hold
	hooks        map[string]bool // whether an agent's hooks make checkpoints, by the agent's name
	checkpointOn []string        // the tools at which they do, none for all
	minInterval  time.Duration   // between two of them at least

	from map[string]setAt // where a key was set that was
}

// setAt is where a setting was made: in a line of the file, or in the environment.
type setAt struct {
	line     int
	variable string
}

// hookAgents are the agents that there are hooks for.
var hookAgents = []string{"claude-code", "gemini-cli", "codex", "cursor", "opencode"}

// readConfig reads config.toml, which need not exist.
func (a *app) readConfig() (config, error) {
	c := config{
		basePath: filepath.Join(a.home, "stores"), size: 50 << 30, autoPrune: true, keepCount: 100, autoIndex: true, autoSum: true,
		hooks: map[string]bool{}, checkpointOn: []string{}, from: map[string]setAt{},
	}
	for _, agent := range hookAgents {
		c.hooks[agent] = true
	}
	keys := a.configKeys(&c)
	if err := c.takeFile(a.configFile(), keys); err != nil {
		return c, err
	}
	return c, c.takeEnvironment(keys)
}

func (a *app) configFile() string { return filepath.Join(a.home, "config.toml") }

// takeFile puts the settings of the file in force, if there is one.
func (c *config) takeFile(file string, keys []configKey) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return status.Errorf(status.Usage, "%w", err)
	}
	found, err := settings(file, text)
	if err != nil {
		return err
	}
	return c.take(file, keys, found)
}

// takeEnvironment puts those in force that the environment has, over the file's:
// AGENTFS_CHECKPOINTS_KEEP_COUNT for checkpoints.keep_count.
func (c *config) takeEnvironment(keys []configKey) error {
	for _, k := range keys {
		variable := "AGENTFS_" + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
		text := os.Getenv(variable)
		if text == "" {
			continue
		}
		if !k.set(tomlValue(text)) && !k.set(text) {
			return status.Errorf(status.Usage, "%s: bad value %q", variable, text).WithHint("want %s", k.want)
		}
		c.from[k.name] = setAt{variable: variable}
	}
	return nil
}

// take puts the settings of the file in force, up to the first that is wrong.
func (c *config) take(file string, keys []configKey, found []setting) error {
	for _, s := range found {
		k := keyNamed(keys, s.key)
		switch {
		case k == nil && s.table && hasTable(keys, s.key):
		case k == nil:
			return unknownKey(file, s, keys)
		case !k.set(s.value):
			return status.Errorf(status.Usage, "%s:%d: bad value %s for %q", file, s.line, tomlText(s.value), s.key).
				WithHint("want %s", k.want)
		default:
			c.from[s.key] = setAt{line: s.line}
		}
	}
	return nil
}

func unknownKey(file string, s setting, keys []configKey) error {
	err := status.Errorf(status.Usage, "%s:%d: unknown key %q", file, s.line, s.key)
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	if near := command.Nearest(s.key, names); near != "" {
		return err.WithHint("did you mean %q?", near)
	}
	return err.WithHint("agentfs config -h lists the keys")
}

// configKey is a key of config.toml, as "table.key".
type configKey struct {
	name string
	want string           // what values it takes, for who gave another
	set  func(v any) bool // puts a value in force, unless it is none for this key
	get  func() any       // gives the value in force
}

// configKeys gives all keys, with c for their values.
func (a *app) configKeys(c *config) []configKey {
	keys := []configKey{
		keyOf("stores.base_path", &c.basePath, "a path that begins with / or ~", a.configPath),
		keyOf("stores.default_size", &c.size, `a size, as in "50G"`, configSize),
		keyOf("stores.default_mount_base", &c.mountBase, "a path that begins with / or ~", a.configPath),
		keyOf("checkpoints.auto_prune", &c.autoPrune, "true or false", as[bool]),
		keyOf("checkpoints.keep_count", &c.keepCount, "a number from 1 on", configCount),
		keyOf("checkpoints.auto_index", &c.autoIndex, "true or false", as[bool]),
		keyOf("checkpoints.auto_sum", &c.autoSum, "true or false", as[bool]),
	}
	for _, agent := range hookAgents {
		keys = append(keys, hookKey(c, agent))
	}
	return append(keys,
		keyOf("hooks.checkpoint_on", &c.checkpointOn, `a list of tools, as in ["Edit", "Write"]`, configWords),
		keyOf("hooks.min_interval", &c.minInterval, `a duration, as in "10s"`, configDuration))
}

// keyOf makes a key whose value, as read, goes to to.
func keyOf[T any](name string, to *T, want string, read func(v any) (T, bool)) configKey {
	set := func(v any) bool {
		value, ok := read(v)
		if ok {
			*to = value
		}
		return ok
	}
	return configKey{name, want, set, func() any { return *to }}
}

// hookKey makes the key that says whether an agent's hooks make checkpoints.
func hookKey(c *config, agent string) configKey {
	set := func(v any) bool {
		on, ok := v.(bool)
		if ok {
			c.hooks[agent] = on
		}
		return ok
	}
	return configKey{"hooks." + strings.ReplaceAll(agent, "-", "_"), "true or false", set, func() any { return c.hooks[agent] }}
}

func keyNamed(keys []configKey, name string) *configKey {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

func hasTable(keys []configKey, table string) bool {
	for _, k := range keys {
		if strings.HasPrefix(k.name, table+".") {
			return true
		}
	}
	return false
}

func as[T any](v any) (T, bool) {
	value, ok := v.(T)
	return value, ok
}

// configPath takes a path from the root or from ~: where agentfs is called must
// not change what the file means.
func (a *app) configPath(v any) (string, bool) {
	s, ok := v.(string)
	if !ok || !filepath.IsAbs(s) && s != "~" && !strings.HasPrefix(s, "~/") {
		return "", false
	}
	path, err := a.abs(s)
	return physical(path), err == nil
}

func configSize(v any) (int64, bool) {
	if n, ok := v.(int64); ok {
		return n, n >= 0
	}
	s, _ := v.(string)
	n, err := size.Parse(s)
	return n, err == nil
}

// configCount refuses 0: the checkpoint just made would go.
func configCount(v any) (uint, bool) {
	n, ok := v.(int64)
	return uint(n), ok && 0 < n && n < 1<<31
}

func configWords(v any) ([]string, bool) {
	list, ok := v.([]any)
	words := []string{}
	for _, e := range list {
		word, yes := e.(string)
		ok = ok && yes && word != ""
		words = append(words, word)
	}
	return words, ok
}

func configDuration(v any) (time.Duration, bool) {
	s, _ := v.(string)
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0
}
