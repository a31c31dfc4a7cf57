package main

// What install writes for each agent. Hooks before a tool are awaited by all of them, as
// they must be. Those after one are awaited too: running on, the agent's next tool would
// have changed files before they are looked at.

const (
	seconds = 10 // that an agent waits at most; a checkpoint takes a hundredth
	longest = 60 // for a fork, and at the end of a turn, when nobody waits
)

var claudeSettings = place{
	env: "CLAUDE_CONFIG_DIR", home: ".claude", project: ".claude", file: "settings.json",
	format: settings{entries: func(exe string, worktrees bool) []entry {
		hook := func(matcher string, timeout int, async bool) group {
			return group{matcher, []handler{{Type: "command", Command: exe, Args: []string{"claude-code"}, Async: async, Timeout: timeout}}}
		}
		const tools = "^(Bash|PowerShell|Edit|MultiEdit|Write|NotebookEdit|mcp__.*)$"
		all := []entry{
			{"UserPromptSubmit", hook("", seconds, false)},
			{"PreToolUse", hook(tools, seconds, false)},
			{"PostToolUse", hook(tools, seconds, false)},
			{"PostToolUseFailure", hook(tools, seconds, false)},
			{"Stop", hook("", longest, true)},
			{"SessionEnd", hook("", seconds, false)},
		}
		if worktrees {
			all = append(all, entry{"WorktreeCreate", hook("", longest, false)}, entry{"WorktreeRemove", hook("", longest, false)})
		}
		return all
	}},
}

var codexSettings = place{
	env: "CODEX_HOME", home: ".codex", project: ".codex", file: "hooks.json",
	format: settings{entries: func(exe string, _ bool) []entry {
		hook := func(matcher string) group {
			return group{matcher, []handler{{Type: "command", Command: quote(exe) + " codex", Timeout: seconds}}}
		}
		const tools = "^(Bash|apply_patch|mcp__.*)$"
		return []entry{
			{"UserPromptSubmit", hook("")},
			{"PreToolUse", hook(tools)},
			{"PostToolUse", hook(tools)},
			{"Stop", hook("")},
		}
	}},
}

var cursorSettings = place{
	home: ".cursor", project: ".cursor", file: "hooks.json",
	format: settings{version: true, entries: func(exe string, _ bool) []entry {
		var all []entry
		for _, event := range []string{
			"beforeSubmitPrompt", "preToolUse", "beforeShellExecution", "beforeMCPExecution",
			"postToolUse", "afterShellExecution", "afterMCPExecution", "afterFileEdit", "stop", "sessionEnd",
		} {
			all = append(all, entry{event, handler{Command: quote(exe) + " cursor"}})
		}
		return all
	}},
}

var geminiSettings = place{
	home: ".gemini", project: ".gemini", file: "settings.json",
	format: settings{entries: func(exe string, _ bool) []entry {
		hook := func(matcher string) group {
			return group{matcher, []handler{{Name: "agentfs", Type: "command", Command: quote(exe) + " gemini-cli", Timeout: seconds * 1000}}}
		}
		const tools = "^(run_shell_command|write_file|replace|mcp_.*)$"
		return []entry{
			{"BeforeAgent", hook("")},
			{"BeforeTool", hook(tools)},
			{"AfterTool", hook(tools)},
			{"AfterAgent", hook("")},
			{"SessionEnd", hook("")},
		}
	}},
}

var opencodePlugin = place{
	env: "XDG_CONFIG_HOME", under: "opencode", home: ".config/opencode", project: ".opencode", file: "plugins/agentfs.js",
	format: plugin{},
}
