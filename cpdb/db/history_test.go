package db

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"agentfs.internal/tool/record"
)

// made makes a ready checkpoint that is indexed with these changes.
func made(t *testing.T, d *DB, store, message string, why record.Causality, list ...record.Change) *record.Checkpoint {
	t.Helper()
	b, err := d.Begin(t.Context(), store, message, why)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(t.Context(), At{StoreID: b.Store.ID, Number: b.Checkpoint.Version}, record.Clone{}); err != nil {
		t.Fatal(err)
	}
	c, err := d.Index(t.Context(), Indexed{Store: store, Version: formatVersion(b.Checkpoint.Version), Changes: list, State: record.IndexDone})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func added(path string) record.Change {
	return record.Change{Path: path, Kind: record.ChangeAdded, Type: "file"}
}

func renamed(from, to string) record.Change {
	return record.Change{Path: to, From: from, Kind: record.ChangeRenamed, Type: "file"}
}

func modified(path string) record.Change {
	return record.Change{Path: path, Kind: record.ChangeModified, Type: "file"}
}

// Who made the changes, given what the parent and the checkpoint were made for.
func TestAuthor(t *testing.T) {
	event := func(name string) map[string]string { return map[string]string{"event": name} }
	tool := record.Causality{Agent: "claude-code", Action: "Edit", Session: "s", Before: true, Meta: event("PreToolUse")}
	with := func(change func(*record.Causality)) record.Causality {
		c := tool
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		parent, own record.Causality
		want        string // the author's action, "" for a person
	}{
		"after an action, its own":       {tool, with(func(c *record.Causality) { c.Action, c.Before = "Write", false }), "Write"},
		"by a person":                    {tool, record.Causality{}, ""},
		"before, the tool before":        {tool, with(func(c *record.Causality) { c.Action = "Bash" }), "Edit"},
		"before, with another event":     {with(func(c *record.Causality) { c.Meta = event("beforeShellExecution") }), tool, "Edit"},
		"before, told by hand":           {with(func(c *record.Causality) { c.Meta = nil }), tool, "Edit"},
		"before, the prompt before":      {with(func(c *record.Causality) { c.Action, c.Meta = "UserPromptSubmit", event("UserPromptSubmit") }), tool, ""},
		"before, the prompt by hand":     {with(func(c *record.Causality) { c.Action, c.Meta = "UserPromptSubmit", nil }), tool, ""},
		"before, nothing known before":   {with(func(c *record.Causality) { c.Action, c.Meta = "", nil }), tool, ""},
		"before, the parent after":       {with(func(c *record.Causality) { c.Before = false }), tool, ""},
		"before, another session before": {with(func(c *record.Causality) { c.Session = "other" }), tool, ""},
		"before, another agent before":   {with(func(c *record.Causality) { c.Agent = "codex" }), tool, ""},
		"before, a person before":        {record.Causality{}, tool, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			addStore(t, d, "x")
			made(t, d, "x", "", test.parent)
			made(t, d, "x", "", test.own)
			list, err := d.Log(t.Context(), "x", Filter{})
			if err != nil || len(list) != 2 {
				t.Fatal(list, err)
			}
			author := list[0].Author
			if author.Action != test.want || author.Before || test.want == "" && !reflect.DeepEqual(author, record.Causality{}) {
				t.Errorf("author %+v", author)
			}
		})
	}
}

// Names that are swapped, given up and taken again are told apart.
func TestTraceNames(t *testing.T) {
	d := open(t, t.TempDir())
	addStore(t, d, "x")
	made(t, d, "x", "", record.Causality{}, added("a"), added("b"))               // v1
	made(t, d, "x", "", record.Causality{}, renamed("b", "a"), renamed("a", "b")) // v2
	made(t, d, "x", "", record.Causality{}, modified("a"))                        // v3
	made(t, d, "x", "", record.Causality{}, renamed("a", "c"))                    // v4
	made(t, d, "x", "", record.Causality{}, added("a"), modified("c"))            // v5
	for path, want := range map[string]string{
		"a": "v5 a",
		"b": "v2 b, v1 a",
		"c": "v5 c, v4 c, v3 a, v2 a, v1 b",
	} {
		list, err := d.Trace(t.Context(), "x", nil, path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprintf("v%d %s", e.Checkpoint.Version, e.Change.Path))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
}

// Parents that run in a circle, which only a damaged file has, end a trace.
func TestTraceCircle(t *testing.T) {
	d := open(t, t.TempDir())
	addStore(t, d, "x")
	for range 3 {
		made(t, d, "x", "", record.Causality{}, modified("f"))
	}
	if err := d.exec("UPDATE checkpoints SET parent_id = 3 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	if list, err := d.Trace(t.Context(), "x", nil, "f"); err != nil || len(list) != 3 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

// A long list lets checkpoints through while it is written.
func TestIndexLetsOthersIn(t *testing.T) {
	home := t.TempDir()
	d, other := open(t, home), open(t, home)
	addStore(t, d, "x")
	made(t, d, "x", "", record.Causality{})
	list := make([]record.Change, 36000)
	for i := range list {
		list[i] = added(fmt.Sprintf("packages/%d/file.ts", i))
	}
	done := make(chan error, 1)
	go func() {
		_, err := d.Index(t.Context(), Indexed{Store: "x", Version: "v1", Changes: list, State: record.IndexDone})
		done <- err
	}()
	meanwhile := 0
	for len(done) == 0 {
		time.Sleep(10 * time.Millisecond)
		if _, err := other.Begin(t.Context(), "x", "", record.Causality{}); err != nil {
			t.Fatal(err)
		}
		meanwhile++
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if meanwhile < 5 { // one transaction for all would let in the first, and the last after the end
		t.Errorf("only %d checkpoints were begun meanwhile", meanwhile)
	}
}

// Many that index one checkpoint at once end with one whole list.
func TestIndexAtOnce(t *testing.T) {
	home := t.TempDir()
	d := open(t, home)
	addStore(t, d, "x")
	made(t, d, "x", "", record.Causality{})
	list := make([]record.Change, 1200)
	for i := range list {
		list[i] = added(fmt.Sprint("f", i))
	}
	var wg sync.WaitGroup
	for range 4 {
		one := open(t, home)
		wg.Go(func() {
			if _, err := one.Index(t.Context(), Indexed{Store: "x", Version: "v1", Changes: list, State: record.IndexDone}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := d.Changes(t.Context(), "x", "v1")
	if err != nil || len(got) != len(list) || got[1199].Change.Path != "f1199" {
		t.Errorf("%d changes, %v", len(got), err)
	}
}

// Whatever people type: it is never a statement. What is indexed and what is not are
// found by the same words; beyond ASCII there are rare letters that SQLite does not
// know, or folds in another way.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{"auth", `"a" OR b*`, "NEAR/2", "NOT", "-x", "a:b", "(", "'", "😀", "é", "E\u0301", "İ", "\u0301", "\u1ab0", "\xff", "٣", "message:x", "𞤀", "ß", "\ue000"} {
		f.Add(text)
	}
	d, err := openMemory(f.Context(), f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = d.disconnect() }()
	if _, err := d.Add(f.Context(), record.Store{Name: "x", Status: record.StoreReady, MountPath: "/x"}); err != nil {
		f.Fatal(err)
	}
	b, err := d.Begin(f.Context(), "x", "", record.Causality{})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := d.Commit(f.Context(), At{StoreID: b.Store.ID, Number: 1}, record.Clone{}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := Words(text)
		if len(words) == 0 || strings.Contains(text, "\x00") { // which no argument has
			return
		}
		for _, state := range []string{record.IndexNone, record.IndexDone} {
			if err := d.exec(`UPDATE checkpoints SET "index" = ''`); err != nil {
				t.Fatal(err)
			}
			if err := d.exec(`UPDATE checkpoints SET message = ?, "index" = ?`, text, state); err != nil {
				t.Fatal(err)
			}
			list, err := d.Search(t.Context(), "x", words, 0)
			if err != nil {
				t.Fatalf("%q: %v", words, err)
			}
			if len(list) != 1 && (state == record.IndexNone || strings.IndexFunc(text, func(r rune) bool { return r > 127 }) < 0) {
				t.Errorf("%q, index %q: not found by its own words %q", text, state, words)
			}
		}
	})
}
