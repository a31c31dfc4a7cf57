// Agentfs-hook makes checkpoints of what a coding agent does: the agent runs it on
// each of its hook events.
//
//	agentfs-hook AGENT <event.json      one event, on standard input
//	agentfs-hook install AGENT [--scope user|project] [--dir DIR] [--worktrees] [--dry-run] [--json]
//	agentfs-hook uninstall AGENT [--scope user|project] [--dir DIR] [--dry-run] [--json]
//	agentfs-hook status [AGENT] [--dir DIR] [--json]
//
// AGENT is claude-code, codex, cursor, gemini-cli or opencode. docs/hooks.md has what
// each of them sends, and the settings that install writes.
//
// # Events
//
// An event becomes a call of 'agentfs checkpoint --auto', in the event's directory,
// with what the event tells of its cause: agent, tool, session, prompt. The agent that
// runs the hook must not notice: nothing is written to standard output, and the exit
// status is 0, whatever happens; it is 1 only for a first argument that is no agent.
// What fails is told by ~/.agentfs/hooks.log.
//
// The event WorktreeCreate of Claude Code is the exception: the path of a fork of the
// store is printed, the only line, and a failure is exit status 1. So is that of
// WorktreeRemove, which deletes such a fork and nothing else. Outside of a store both do
// what Claude Code itself does, with git.
//
// # Settings
//
// Install puts the hooks into the agent's settings, uninstall takes them out again. All
// else in the file stays as it is, comments too; what it was before the first install is
// kept beside it, as settings.json.agentfs-backup. Each writes what it has done as lines
// for people or, with --json, as one JSON document. Exit status: 0 done, 1 general error,
// as for settings that are no JSON, which are left alone, 2 usage.
//
// # Files
//
// ~/.agentfs, or AGENTFS_HOME, holds hooks.log, which is begun anew beyond 1 MiB, and
// worktrees/NAME for each fork that was made for a worktree.
package main

import (
	"os"
	"syscall"

	"agentfs.internal/tool/command"
)

func main() {
	syscall.Umask(0o077) // whatever is made here is the caller's alone
	if len(os.Args) > 1 && agents[os.Args[1]] != nil {
		os.Exit(hook(os.Args[1], command.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	command.Main(tree())
}
