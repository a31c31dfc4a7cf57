package main

import (
	"context"
	"flag"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

const manual = `
AGENT is claude-code, codex, cursor, gemini-cli or opencode. Reads one of its hook
events as JSON on standard input and runs 'agentfs checkpoint --auto' in the event's
directory, with what the event tells of its cause. Writes nothing and exits with 0
whatever happens; what fails is told by ~/.agentfs/hooks.log. Only for a worktree of
Claude Code it writes a path, and exits with 1 where there is none.

Exit status of the verbs: 0 done, 1 general error, 2 usage.

Example:

  agentfs-hook install claude-code --dry-run`

// tree is the command tree for everything but an event of a known agent.
func tree() *command.Verb {
	j := &job{}
	return &command.Verb{
		Name: "agentfs-hook", Args: "AGENT", Min: 1, Max: 1,
		Short: "make checkpoints of what a coding agent does",
		Long:  manual,
		Flags: func(fs *flag.FlagSet) { fs.BoolVar(&j.json, "json", false, "write one JSON document") },
		Verbs: []*command.Verb{j.installVerb(), j.uninstallVerb(), j.statusVerb()},
		Run: func(_ context.Context, _ command.IO, args []string) error {
			// The status of a usage error would make an agent that is hooked so by
			// mistake refuse all its tools.
			return unknown(status.General, args[0])
		},
	}
}

func unknown(code int, name string) error {
	return status.Errorf(code, "no agent %q is known here", name).
		WithHint("claude-code, codex, cursor, gemini-cli or opencode")
}
