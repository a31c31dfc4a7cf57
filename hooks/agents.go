package main

// agent is a coding agent whose hooks are known.
type agent struct {
	name   string          // as it is typed, and as checkpoints have it
	title  string          // as people call it
	events map[string]kind // what is done at which of its events; the others are nothing to us
	place  place           // where its hooks are told to it
	note   string          // what the person has to do after an install
}

// kind is what an event is to us.
type kind int

const (
	nothing        kind = iota
	prompt              // the person has asked for something: always a checkpoint, of what was there before
	before              // a tool is about to run
	after               // tools have run
	moment              // a turn or a session is over
	worktreeCreate      // a directory is wanted, for another agent to work in
	worktreeRemove      //
)

var agents = map[string]*agent{
	"claude-code": {
		name: "claude-code", title: "Claude Code", place: claudeSettings,
		events: map[string]kind{
			"UserPromptSubmit": prompt, "PreToolUse": before,
			"PostToolUse": after, "PostToolUseFailure": after, "PostToolBatch": after,
			"Stop": moment, "StopFailure": moment, "SubagentStop": moment, "SessionEnd": moment, "PreCompact": moment,
			"WorktreeCreate": worktreeCreate, "WorktreeRemove": worktreeRemove,
		},
		note: "/hooks in Claude Code shows them; a session that runs already may have to be started anew",
	},
	"codex": {
		name: "codex", title: "Codex", place: codexSettings,
		events: map[string]kind{
			"UserPromptSubmit": prompt, "PreToolUse": before, "PostToolUse": after,
			"Stop": moment, "StopFailure": moment, "SubagentStop": moment, "SessionEnd": moment, "Interrupt": moment, "PreCompact": moment,
		},
		note: "Codex runs them only after you have trusted them: type /hooks in it",
	},
	"cursor": {
		name: "cursor", title: "Cursor", place: cursorSettings,
		events: map[string]kind{
			"beforeSubmitPrompt": prompt,
			"preToolUse":         before, "beforeShellExecution": before, "beforeMCPExecution": before,
			"postToolUse": after, "postToolUseFailure": after, "afterShellExecution": after, "afterMCPExecution": after, "afterFileEdit": after,
			"stop": moment, "subagentStop": moment, "sessionEnd": moment, "preCompact": moment,
		},
		note: "restart Cursor",
	},
	"gemini-cli": {
		name: "gemini-cli", title: "Gemini CLI", place: geminiSettings,
		events: map[string]kind{
			"BeforeAgent": prompt, "BeforeTool": before, "AfterTool": after,
			"AfterAgent": moment, "SessionEnd": moment, "PreCompress": moment,
		},
		note: "restart Gemini CLI; hooks are on unless hooksConfig.enabled is false (before 0.27: tools.enableHooks must be true)",
	},
	"opencode": {
		name: "opencode", title: "OpenCode", place: opencodePlugin,
		events: map[string]kind{
			"chat.message": prompt, "tool.execute.before": before, "tool.execute.after": after, "session.idle": moment,
		},
		note: `restart OpenCode; in a store its own snapshots are not needed: "snapshot": false in opencode.json`,
	},
}
