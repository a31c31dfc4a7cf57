package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"agentfs.internal/hooks/jsonc"
)

// settings are hooks in a JSON file: below "hooks" an array for each event.
type settings struct {
	entries func(exe string, worktrees bool) []entry
	version bool // the file has "version": 1, and must have it
}

// entry is one hook that install writes.
type entry struct {
	event string
	value any
}

// group is a hook in Claude Code's shape, and in that of Codex and Gemini CLI.
type group struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []handler `json:"hooks"`
}

// handler is the inner part of it, and all of a hook of Cursor.
type handler struct {
	Name    string   `json:"name,omitempty"`
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	Async   bool     `json:"async,omitempty"`
	Timeout int      `json:"timeout,omitempty"`
}

func (s settings) add(text []byte, exe string, worktrees bool) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	doc, err := jsonc.Parse(text)
	if err != nil {
		return nil, err
	}
	if s.version {
		if err := doc.Add(1, "version"); err != nil {
			return nil, err
		}
	}
	for _, e := range s.entries(exe, worktrees) {
		if err := doc.Append(e.value, "hooks", e.event); err != nil {
			return nil, err
		}
	}
	return doc.Bytes(), nil
}

func (s settings) remove(text []byte) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	doc, err := jsonc.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, event := range doc.Keys("hooks") {
		groups := groupsOf(doc, event)
		for i := len(groups) - 1; i >= 0; i-- {
			if err := removeFrom(doc, event, i, groups[i]); err != nil {
				return nil, err
			}
		}
	}
	return doc.Bytes(), nil
}

// removeFrom takes our handlers out of a group, and the group if there are no others.
func removeFrom(doc *jsonc.Text, event string, i int, g anyGroup) error {
	mine := g.mine()
	if len(mine) == max(1, len(g.Hooks)) {
		return doc.Remove("hooks", event, i)
	}
	for n := len(mine) - 1; n >= 0; n-- {
		if err := doc.Remove("hooks", event, i, "hooks", mine[n]); err != nil {
			return err
		}
	}
	return nil
}

func (s settings) bare(text []byte) bool {
	doc, err := jsonc.Parse(text)
	if err != nil || bytes.Contains(text, []byte("/")) {
		return false
	}
	keys := doc.Keys()
	return len(keys) == 0 || s.version && len(keys) == 1 && keys[0] == "version"
}

func (s settings) find(text []byte) ([]found, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	doc, err := jsonc.Parse(text)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, event := range doc.Keys("hooks") {
		for _, g := range groupsOf(doc, event) {
			if len(g.mine()) > 0 {
				all = append(all, found{event, g.program(), string(g.raw)})
			}
		}
	}
	return all, nil
}

// anyGroup is what stands in an event's array, whoever has put it there.
type anyGroup struct {
	Command string                     // Cursor's have no group around them
	Hooks   []struct{ Command string } //
	raw     json.RawMessage
}

func groupsOf(doc *jsonc.Text, event string) []anyGroup {
	var raw []json.RawMessage
	doc.Decode(&raw, "hooks", event)
	groups := make([]anyGroup, len(raw))
	for i, text := range raw {
		_ = json.Unmarshal(text, &groups[i]) // what is no hook is not ours
		var line bytes.Buffer
		_ = json.Compact(&line, text)
		groups[i].raw = line.Bytes()
	}
	return groups
}

// mine gives the places of our handlers in a group; 0 for a hook that is its own.
func (g anyGroup) mine() []int {
	var mine []int
	for i, h := range g.Hooks {
		if ours(h.Command) {
			mine = append(mine, i)
		}
	}
	if len(g.Hooks) == 0 && ours(g.Command) {
		mine = []int{0}
	}
	return mine
}

// program gives the path of agentfs-hook in a group that has it.
func (g anyGroup) program() string {
	for _, h := range g.Hooks {
		if ours(h.Command) {
			return program(h.Command)
		}
	}
	return program(g.Command)
}

const binary = "agentfs-hook"

// ours tells whether a command runs this program.
func ours(command string) bool { return filepath.Base(program(command)) == binary }

// program gives the first word of a command line, which quote has perhaps quoted, or the
// command itself where it is a path with spaces.
func program(command string) string {
	if rest, ok := strings.CutPrefix(command, "'"); ok {
		word, _, _ := strings.Cut(strings.ReplaceAll(rest, `'\''`, "\x00"), "'")
		return strings.ReplaceAll(word, "\x00", "'")
	}
	if filepath.Base(command) == binary {
		return command
	}
	word, _, _ := strings.Cut(command, " ")
	return word
}

// quote writes a path as a shell reads it.
func quote(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
