package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever stands in config.toml, it is read or refused with its name, and every key
// that is read stands in the line that is told.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{
		"[stores]\ndefault_size = \"1G\"\n", "a.b = 1\n[a.c]\nd = [1, [2]]\n", "hooks = { codex = true, x.y = 2 }",
		"[[a]]\nb = 1\n[[a]]\nb = 2", "\"a.b\" = 1\n'' = 2\n", "a = \"\"\"\nx\ny\"\"\"\r\nb = 2", "# nothing", "[a", "a = 2026-11-20",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := settings("config.toml", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "config.toml:") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		lines := strings.Count(text, "\n") + 1
		for _, s := range found {
			if s.line < 1 || s.line > lines {
				t.Errorf("%q: %q in line %d of %d", text, s.key, s.line, lines)
			}
		}
	})
}

// readConfig is on the way to every checkpoint.
func BenchmarkReadConfig(b *testing.B) {
	a := &app{home: b.TempDir(), cwd: "/"}
	text := "[stores]\nbase_path = \"/srv/stores\"\n[checkpoints]\nauto_prune = false\nkeep_count = 7\n" +
		"[hooks]\nclaude_code = true\ncheckpoint_on = [\"Edit\", \"Write\"]\nmin_interval = \"10s\"\n"
	if err := os.WriteFile(filepath.Join(a.home, "config.toml"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := a.readConfig(); err != nil {
			b.Fatal(err)
		}
	}
}
