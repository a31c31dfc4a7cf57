package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// input is what agents send, as far as it matters here. Cursor has names of its own for
// some of it; our plugin for OpenCode uses those of Claude Code.
type input struct {
	Event        string   `json:"hook_event_name"`
	Session      string   `json:"session_id"`
	Conversation string   `json:"conversation_id"` // Cursor
	CWD          string   `json:"cwd"`
	Roots        []string `json:"workspace_roots"` // Cursor
	Prompt       string   `json:"prompt"`
	Tool         string   `json:"tool_name"`
	Calls        []struct {
		Tool string `json:"tool_name"`
	} `json:"tool_calls"` // PostToolBatch
	Name         string `json:"name"`          // WorktreeCreate
	WorktreeName string `json:"worktree_name"` // the same, in some versions
	WorktreePath string `json:"worktree_path"` // WorktreeRemove
	PromptID     string `json:"prompt_id"`
	ToolUseID    string `json:"tool_use_id"`
	TurnID       string `json:"turn_id"`       // Codex
	AgentID      string `json:"agent_id"`      // inside a subagent
	AgentType    string `json:"agent_type"`    //
	GenerationID string `json:"generation_id"` // Cursor
}

// event is what has happened, whichever agent tells it.
type event struct {
	agent    *agent
	name     string
	kind     kind
	dir      string   // where; "" for the directory that the hook was started in
	session  string   //
	prompt   string   //
	tools    []string // those that may have written, or be about to
	ids      []string // "prompt_id=…", what else there is to tell
	worktree string   // the name of one to make, the path of one to remove
}

const (
	maxInput  = 64 << 20 // a tool's whole answer may be in an event
	maxPrompt = 16 << 10
	maxID     = 256
)

// readEvent reads one event, not what comes after it: the agent may leave its end of
// the pipe open. Fields that are unknown, or not of the type that they should be of, are
// ignored.
func readEvent(a *agent, r io.Reader) (event, error) {
	limited := &io.LimitedReader{R: r, N: maxInput}
	var in input
	var other *json.UnmarshalTypeError
	err := json.NewDecoder(limited).Decode(&in)
	if limited.N <= 0 && err != nil {
		_, _ = io.Copy(io.Discard, r) // who writes it must not notice
		return event{}, fmt.Errorf("an event of more than %d MiB", maxInput>>20)
	}
	if err != nil && !errors.As(err, &other) {
		return event{}, fmt.Errorf("no JSON: %w", err)
	}
	return a.event(in), nil
}

func (a *agent) event(in input) event {
	e := event{agent: a, name: clean(in.Event, maxID), dir: in.CWD,
		session: clean(in.Session, maxID), prompt: clean(in.Prompt, maxPrompt)}
	e.kind = a.events[e.name]
	if e.session == "" {
		e.session = clean(in.Conversation, maxID)
	}
	if e.dir == "" && len(in.Roots) > 0 {
		e.dir = in.Roots[0]
	}
	e.tools = writers(in)
	for _, id := range [][2]string{
		{"prompt_id", in.PromptID}, {"turn_id", in.TurnID}, {"generation_id", in.GenerationID},
		{"tool_use_id", in.ToolUseID}, {"agent_id", in.AgentID}, {"agent_type", in.AgentType},
	} {
		if value := clean(id[1], maxID); value != "" {
			e.ids = append(e.ids, id[0]+"="+value)
		}
	}
	switch e.kind {
	case worktreeCreate:
		e.worktree = slug(in.Name + in.WorktreeName) // a version sends one of them
	case worktreeRemove:
		e.worktree = in.WorktreePath
	}
	return e
}

// clean makes text fit to be an argument: valid, without NUL, not too long.
func clean(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= limit {
		return s
	}
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// title is the first line of a prompt that says something, at most 72 characters of it.
func title(prompt string) string {
	for line := range strings.Lines(prompt) {
		if line = strings.TrimSpace(line); line != "" {
			if short := []rune(line); len(short) > 72 {
				line = string(short[:71]) + "…"
			}
			return line
		}
	}
	return ""
}
