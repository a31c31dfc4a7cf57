package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTitle(t *testing.T) {
	long := strings.Repeat("ä", 73)
	for prompt, want := range map[string]string{
		"":                      "",
		" \n\t\n":               "",
		"\n  fix it \r\nplease": "fix it",
		long:                    strings.Repeat("ä", 71) + "…",
		long[:144]:              long[:144],
	} {
		if have := title(prompt); have != want {
			t.Errorf("%q: %q", prompt, have)
		}
	}
}

func TestWriters(t *testing.T) {
	for tool, want := range map[string]bool{
		"Bash": true, "apply_patch": true, "mcp__files__read": true, "MCP:read": true, "SomethingNew": true,
		"Read": false, "TodoWrite": false, "read_many_files": false, "list": false, "": false,
	} {
		if writes(tool) != want {
			t.Errorf("%q: %t", tool, !want)
		}
	}
}

func TestForkName(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, names := range [][2]string{{"app", "a"}, {long, long}, {"a", long}, {long, "b"}} {
		if name := forkName(names[0], names[1]); len(name) > maxName || !strings.Contains(name, "-") {
			t.Errorf("%v: %q", names, name)
		}
	}
	if have := slug("/fe ä.x/../y"); have != "fe---x----y" {
		t.Errorf("slug %q", have)
	}
}

// A panic ends well, with a line in the log.
func TestGuard(t *testing.T) {
	t.Setenv("AGENTFS_HOME", t.TempDir())
	if code := guard(&journal{"codex", "Stop"}, func() int { panic("what\nnow") }); code != 0 {
		t.Errorf("status %d", code)
	}
	text, err := os.ReadFile(filepath.Join(os.Getenv("AGENTFS_HOME"), "hooks.log"))
	if err != nil || !strings.HasSuffix(string(text), " codex Stop: panic: what?now\n") {
		t.Errorf("log %q, %v", text, err)
	}
}

// FuzzEvent: whatever an agent sends becomes no arguments or such as a process takes,
// and agentfs understands: none is a flag but those that we mean.
func FuzzEvent(f *testing.F) {
	files, err := filepath.Glob("testdata/events/*.jsonl")
	if err != nil || len(files) != len(agents) {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f.Add(strings.TrimSuffix(filepath.Base(file), ".jsonl"), line)
		}
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		a := agents[name]
		if a == nil {
			return
		}
		e, err := readEvent(a, strings.NewReader(text))
		args := e.arguments()
		if err != nil && args != nil {
			t.Errorf("%v, but %q", err, args)
		}
		for i, arg := range args {
			if strings.ContainsRune(arg, 0) || !utf8.ValidString(arg) || len(arg) > maxPrompt+100 {
				t.Errorf("argument %q", arg)
			}
			if i >= 4 && i%2 == len(args)%2 && !slices.Contains([]string{"--action", "--tool", "--agent", "--session", "--message", "--prompt", "--meta"}, arg) {
				t.Errorf("%q where a flag should be, in %q", arg, args)
			}
		}
		if strings.ContainsAny(e.worktree, "/.") && e.kind == worktreeCreate {
			t.Errorf("worktree %q", e.worktree)
		}
	})
}
