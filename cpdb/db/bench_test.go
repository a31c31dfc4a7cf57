package db

import (
	"fmt"
	"os"
	"testing"
	"time"

	"agentfs.internal/tool/record"
)

// fill makes a store of n checkpoints, a minute apart, the last one now, of which
// each changed 20 of 20,000 paths and every tenth the same file. Nine in ten are
// pruned.
func fill(tb testing.TB, home string, n int) *DB {
	tb.Helper()
	d, err := OpenOrCreate(tb.Context(), home)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.disconnect() })
	s, err := d.Add(tb.Context(), record.Store{Name: "x", Status: record.StoreReady, MountPath: "/mnt/x"})
	if err != nil {
		tb.Fatal(err)
	}
	start := now().Add(-time.Duration(n) * time.Minute)
	err = d.update(tb.Context(), indexSteps, func() error {
		for i := range n {
			if err := fillOne(d, s, i, start.Add(time.Duration(i+1)*time.Minute)); err != nil {
				return err
			}
		}
		return d.exec(`UPDATE checkpoints SET status = 'pruned' WHERE version <= ?`, n*9/10)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func fillOne(d *DB, s *record.Store, i int, made time.Time) error {
	why := []record.Causality{
		{},
		{Agent: "claude-code", Action: "Edit", Session: fmt.Sprint("session ", i/50), Prompt: "make the tests of the parser pass"},
		{Agent: "claude-code", Action: "Bash", Session: fmt.Sprint("session ", i/50), Before: true, Meta: map[string]string{"event": "PreToolUse"}},
	}[i%3]
	b, err := d.insertPending(s, "auto", why)
	if err != nil {
		return err
	}
	c, err := d.find(At{StoreID: s.ID, Number: b.Version})
	if err != nil {
		return err
	}
	s.Base = c.Version
	if err := d.exec("UPDATE checkpoints SET status = 'ready', created_at = ? WHERE id = ?", made.UnixMicro(), c.ID); err != nil {
		return err
	}
	if err := d.exec(updateBase, c.ID, s.ID); err != nil {
		return err
	}
	list := fillChanges(i)
	if err := d.insertChanges(c, list, 0, len(list)); err != nil {
		return err
	}
	return d.indexed(c, list, record.IndexDone)
}

func fillChanges(i int) (list []record.Change) {
	words := []string{"auth", "user", "api", "login", "token", "store", "route", "index", "page", "view", "model", "util"}
	lines := 3
	for j := range 20 {
		k := (i*7919 + j*104729) % 20000
		list = append(list, record.Change{
			Path: fmt.Sprintf("packages/%s/src/%s-%d/%s%d.ts", words[k%12], words[k/12%12], k%300, words[k/144%12], k),
			Kind: record.ChangeModified, Type: "file", What: []string{"content"}, OldMode: "0644", NewMode: "0644",
			OldSize: 1000, NewSize: 1100, LinesAdded: &lines, LinesDeleted: &lines,
			Hunks: []record.Hunk{{OldStart: 3, OldLines: 3, NewStart: 3, NewLines: 3}},
		})
	}
	if i%10 == 0 {
		list[0].Path = "src/often.ts"
	}
	return list
}

// With CPDB_BENCH_HOME the database is made there and stays, for a look at whole
// processes.
func BenchmarkHistory(b *testing.B) {
	home := os.Getenv("CPDB_BENCH_HOME")
	if home == "" {
		home = b.TempDir()
	}
	d := fill(b, home, 10000)
	at := "v10000"
	for name, ask := range map[string]func() ([]*Entry, error){
		"log-50": func() ([]*Entry, error) { return d.Log(b.Context(), "x", Filter{Limit: 50, Paths: 3}) },
		"log-1h": func() ([]*Entry, error) {
			return d.Log(b.Context(), "x", Filter{Since: now().Add(-time.Hour), Paths: 3})
		},
		"log-agent": func() ([]*Entry, error) {
			return d.Log(b.Context(), "x", Filter{Agent: "claude-code", Limit: 50, Paths: 3})
		},
		"log-nobody": func() ([]*Entry, error) { return d.Log(b.Context(), "x", Filter{Agent: "nobody", Limit: 50, Paths: 3}) },
		"log-file": func() ([]*Entry, error) {
			return d.Log(b.Context(), "x", Filter{Under: []string{"src/often.ts"}, Limit: 50, Paths: 3})
		},
		"log-dir": func() ([]*Entry, error) {
			return d.Log(b.Context(), "x", Filter{Under: []string{"packages/auth"}, Limit: 50, Paths: 3})
		},
		"log-most": func() ([]*Entry, error) {
			return d.Log(b.Context(), "x", Filter{Under: []string{"packages"}, Limit: 50, Paths: 3})
		},
		"log-all":     func() ([]*Entry, error) { return d.Log(b.Context(), "x", Filter{Paths: 3}) },
		"search":      func() ([]*Entry, error) { return d.Search(b.Context(), "x", []string{"auth"}, 50) },
		"search-two":  func() ([]*Entry, error) { return d.Search(b.Context(), "x", []string{"auth", "claude"}, 50) },
		"search-rare": func() ([]*Entry, error) { return d.Search(b.Context(), "x", []string{"often"}, 50) },
		"search-most": func() ([]*Entry, error) { return d.Search(b.Context(), "x", []string{"packages"}, 50) },
		"trace":       func() ([]*Entry, error) { return d.Trace(b.Context(), "x", &at, "src/often.ts") },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if list, err := ask(); err != nil || len(list) == 0 && name != "log-nobody" {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}
