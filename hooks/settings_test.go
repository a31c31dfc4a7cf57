package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"agentfs.internal/tool/command"
)

// The shapes that settings come in.
var shapes = map[string]string{
	"nothing":         "",
	"a new line":      "\n",
	"empty":           "{}",
	"empty, new line": "{}\n",
	"empty, two":      "{\n}\n",
	"no hooks":        "{\n  \"model\": \"opus\"\n}\n",
	"no end of line":  "{\n  \"model\": \"opus\"\n}",
	"tabs":            "{\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}\n",
	"CRLF":            "{\r\n    \"model\": \"opus\" // mine\r\n}\r\n",
	"one line":        `{"model":"opus","permissions":{"allow":["Bash(ls)"]}}`,
	"comments":        "// a\n{ // b\n  /* c */ \"model\": \"opus\", // d\n  // e\n} // f\n// g",
	"trailing commas": "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"command\": \"x\"},],},\n    ],\n  },\n}\n",
	"empty hooks":     "{\n  \"hooks\": {}, \"z\": [ ]\n}\n",
	"empty event":     "{\"hooks\": {\"Stop\": [ ], \"stop\": []}}\n",
	"version":         "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{\"command\": \"./mine.sh\"}]\n  }\n}\n",
	"hooks of others": "{\n  \"hooks\": {\n    \"Stop\": [\n      { // mine\n        \"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]\n      } // yes\n    ],\n    \"AfterTool\": [{\"matcher\": \"x\", \"hooks\": []}, null, 7]\n  }\n}\n",
	"bare seed":       "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"agentfs checkpoint --auto\"}]}]}}",
}

// do runs a verb as it is typed.
func do(t *testing.T, args ...string) string {
	var out, said bytes.Buffer
	if code := command.Run(t.Context(), tree(), args, command.IO{In: strings.NewReader(""), Out: &out, Err: &said}); code != 0 {
		t.Fatalf("%v: status %d: %s", args, code, &said)
	}
	return out.String()
}

// asInstalled makes the test binary pass for agentfs-hook, whose name settings have.
func asInstalled(t testing.TB) {
	was := self
	self = func() (string, error) { return "/opt/a b/agentfs-hook", nil }
	t.Cleanup(func() { self = was })
}

// Install and uninstall leave every file byte by byte as it was, and nothing beside it;
// to install twice is to install once.
func TestInstallUninstall(t *testing.T) {
	asInstalled(t)
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		if name == "opencode" {
			continue // its file is its own
		}
		for shape, text := range shapes {
			t.Setenv("HOME", t.TempDir())
			path, err := agents[name].place.path("user", "")
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, path, text)
			do(t, "install", name)
			once := readFile(t, path)
			if !strings.Contains(once, "agentfs-hook") {
				t.Errorf("%s, %s: not installed:\n%s", name, shape, once)
			}
			do(t, "install", name)
			if twice := readFile(t, path); twice != once {
				t.Errorf("%s, %s: installed twice it is\n%s\nonce\n%s", name, shape, twice, once)
			}
			do(t, "uninstall", name)
			if have := readFile(t, path); have != text {
				t.Errorf("%s, %s: is\n%q\nwas\n%q", name, shape, have, text)
			}
			if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
				t.Errorf("%s, %s: left behind: %v", name, shape, files)
			}
		}
	}
}

// Without a backup it is so too, but for what only that can tell: how an object or an
// array looked that had nothing in it.
func TestRemoveWhatWasAdded(t *testing.T) {
	format := claudeSettings.format
	for shape, text := range shapes {
		installed, err := format.add([]byte(text), "/opt/agentfs-hook", true)
		if err != nil {
			t.Fatal(err)
		}
		have, err := format.remove(installed)
		if empty := strings.HasPrefix(shape, "empty") || strings.TrimSpace(text) == ""; err != nil || !empty && string(have) != text {
			t.Errorf("%s: is\n%q\nwas\n%q, %v", shape, have, text, err)
		}
	}
}

// A hook of ours in a group of somebody's is taken out of it; the group stays.
func TestUninstallFromAGroup(t *testing.T) {
	text := `{"hooks":{"Stop":[{"matcher":"x","hooks":[{"command":"a"},{"command":"'/o p/agentfs-hook' codex"},{"command":"/b/agentfs-hook","args":["x"]},{"command":"/b/agentfs-hook.sh"}]}]}}`
	have, err := settings{}.remove([]byte(text))
	if want := `{"hooks":{"Stop":[{"matcher":"x","hooks":[{"command":"a"},{"command":"/b/agentfs-hook.sh"}]}]}}`; err != nil || string(have) != want {
		t.Errorf("have %s, %v", have, err)
	}
}

func TestOurs(t *testing.T) {
	for line, want := range map[string]bool{
		"/usr/local/bin/agentfs-hook":               true,
		"/opt/a b/agentfs-hook":                     true,
		"agentfs-hook claude-code":                  true,
		"'/opt/it'\\''s mine/agentfs-hook' codex":   true,
		"agentfs checkpoint --auto":                 false,
		"agentfs checkpoint --auto # agentfs-hook":  false,
		"/usr/bin/say agentfs-hook":                 false,
		"/usr/local/bin/agentfs-hook-of-mine codex": false,
		"": false,
	} {
		if ours(line) != want {
			t.Errorf("%q: %t", line, !want)
		}
	}
	for _, path := range []string{"/a/agentfs-hook", "/opt/a b/agentfs-hook", "/it's/agentfs-hook"} {
		if have := program(quote(path) + " codex"); have != path {
			t.Errorf("%q came back as %q", path, have)
		}
	}
}

// FuzzSettings: whatever stands in settings, an install is either refused and changes
// nothing, or an uninstall finds all that it put in, and only that.
func FuzzSettings(f *testing.F) {
	for _, text := range shapes {
		f.Add(text)
	}
	for _, a := range []string{"claude-code", "cursor"} {
		text, err := agents[a].place.format.add([]byte("{}"), "/x/agentfs-hook", true)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	format := claudeSettings.format
	f.Fuzz(func(t *testing.T, text string) {
		before, err := format.find([]byte(text))
		if err != nil {
			return
		}
		c := change{agent: agents["claude-code"], before: []byte(text)}
		installed, err := c.with("/opt/a b/agentfs-hook", true)
		if err != nil {
			return
		}
		found, err := format.find(installed)
		if err != nil || len(found) != 8 {
			t.Fatalf("%d of 8 hooks in %q, %v", len(found), installed, err)
		}
		after, err := format.remove(installed)
		if err != nil {
			t.Fatalf("%q: %v", installed, err)
		}
		if left, err := format.find(after); err != nil || len(left) > 0 {
			t.Errorf("%d hooks left in %q, %v", len(left), after, err)
		}
		if a, b := others(t, string(after)), others(t, text); len(before) == 0 && a != b {
			t.Errorf("hooks of others: %s, were %s", a, b)
		}
	})
}

// others gives the hooks in a text, without those events that have none.
func others(t *testing.T, text string) string {
	var doc struct{ Hooks map[string]json.RawMessage }
	plain, _ := hujson.Minimize([]byte(text + "\n"))
	_ = json.Unmarshal(plain, &doc)
	maps.DeleteFunc(doc.Hooks, func(_ string, v json.RawMessage) bool { return string(v) == "[]" })
	line, err := json.Marshal(doc.Hooks)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(line), "{}", "null", 1)
}

func writeFile(t *testing.T, path, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
