package main

import (
	"cmp"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// reason are the flags that tell why a checkpoint is made.
type reason struct{ record.Causality }

func (r *reason) flags(fs *flag.FlagSet) {
	fs.StringVar(&r.Agent, "agent", "", "the agent's `name`, as claude-code; also AGENTFS_AGENT")
	fs.StringVar(&r.Action, "action", "", "the `tool` or event that made the changes; also AGENTFS_ACTION")
	fs.StringVar(&r.Session, "session", "", "the agent's `ID` of its session; also AGENTFS_SESSION")
	fs.StringVar(&r.Prompt, "prompt", "", "the `text` that the agent works on; also AGENTFS_PROMPT")
	fs.BoolVar(&r.Before, "before", false, "the action is yet to come: what changed was not its doing")
	fs.Func("meta", "anything else to keep, as `KEY=VALUE`; any number", r.addMeta)
}

func (r *reason) addMeta(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return status.Errorf(status.Usage, "want KEY=VALUE")
	}
	if r.Meta == nil {
		r.Meta = map[string]string{}
	}
	r.Meta[key] = value
	return nil
}

// told gives what flags tell, else the environment. An agent that says in the
// environment of its commands who it is need not be named.
func (r *reason) told() record.Causality {
	c := r.Causality
	c.Agent = cmp.Or(c.Agent, os.Getenv("AGENTFS_AGENT"), knownAgent())
	c.Action = cmp.Or(c.Action, os.Getenv("AGENTFS_ACTION"))
	c.Session = cmp.Or(c.Session, os.Getenv("AGENTFS_SESSION"))
	c.Prompt = cmp.Or(c.Prompt, os.Getenv("AGENTFS_PROMPT"))
	return c
}

// knownAgent names the agent that runs this command, by the variables that they
// document.
func knownAgent() string {
	switch {
	case os.Getenv("CLAUDECODE") == "1":
		return "claude-code"
	case os.Getenv("GEMINI_CLI") == "1":
		return "gemini-cli"
	}
	return ""
}

// causalityFlags gives c as cpdb checkpoint begin takes it.
func causalityFlags(c record.Causality) []string {
	var flags []string
	for _, f := range [][2]string{
		{"--agent", c.Agent}, {"--action", c.Action}, {"--session", c.Session}, {"--prompt", c.Prompt},
	} {
		if f[1] != "" {
			flags = append(flags, f[0], f[1])
		}
	}
	if c.Before {
		flags = append(flags, "--before")
	}
	for _, key := range slices.Sorted(maps.Keys(c.Meta)) {
		flags = append(flags, "--meta", key+"="+c.Meta[key])
	}
	return flags
}
