package main

import (
	"context"
	"flag"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
)

// hooksVerb passes on to agentfs-hook what is typed.
func (a *app) hooksVerb() *command.Verb {
	return &command.Verb{
		Name:  "hooks",
		Short: "make coding agents checkpoint by themselves",
		Verbs: []*command.Verb{
			a.hookVerb("install", "AGENT", 1, "put the hooks into an agent's settings"),
			a.hookVerb("uninstall", "AGENT", 1, "take them out again"),
			a.hookVerb("status", "[AGENT]", 0, "show which agents have them"),
		},
	}
}

func (a *app) hookVerb(name, args string, least int, short string) *command.Verb {
	var passed []string
	return &command.Verb{
		Name: name, Args: args, Min: least, Max: 1, Short: short,
		Long: "\nAGENT is claude-code, codex, cursor, gemini-cli or opencode; docs/hooks.md tells of each.",
		Flags: func(fs *flag.FlagSet) {
			if name == "status" {
				return
			}
			pass := func(flag string) func(string) error {
				return func(value string) error { passed = append(passed, "--"+flag+"="+value); return nil }
			}
			fs.Func("scope", "whose settings: `SCOPE` is user or project (default user)", pass("scope"))
			fs.BoolFunc("dry-run", "show what would change, and change nothing", pass("dry-run"))
			if name == "install" {
				fs.BoolFunc("worktrees", "fork the store where Claude Code wants a worktree", pass("worktrees"))
			}
		},
		Run: func(ctx context.Context, stdio command.IO, args []string) error {
			dir, err := a.abs(".") // agentfs itself has left it
			if err != nil {
				return err
			}
			words := append([]string{"agentfs-hook", name, "--dir", dir}, append(passed, args...)...)
			if a.json {
				words = append(words, "--json")
			}
			return a.run.Pass(ctx, nil, stdio.Out, pipeline.Tool(words...))
		},
	}
}
