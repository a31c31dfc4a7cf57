package db

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func open(t *testing.T, home string) *DB {
	t.Helper()
	d, err := OpenOrCreate(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.disconnect() })
	return d
}

func addStore(t *testing.T, d *DB, name string) *record.Store {
	t.Helper()
	s, err := d.Add(t.Context(), record.Store{Name: name, Status: record.StoreReady, MountPath: "/mnt/" + name})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]int64{
		"v1": 1, "v10": 10, "v9223372036854775807": 9223372036854775807,
		"": 0, "v": 0, "3": 0, "v0": 0, "v01": 0, "v-1": 0, "v+1": 0, "vv1": 0, "v1 ": 0, "V1": 0, "v1_0": 0,
		"latest": 0, "v9223372036854775808": 0,
	} {
		n, ok := parseVersion(text)
		if ok != (want != 0) || ok && n != want {
			t.Errorf("%q: %d, %v", text, n, ok)
		}
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "0": true, "My.app_2-x": true, strings.Repeat("a", 64): true,
		"": false, ".a": false, "-a": false, "_a": false, "a/b": false, "a b": false, "a\n": false, "é": false,
		"..": false, strings.Repeat("a", 65): false,
	} {
		if err := ValidName(name); (err == nil) != want || err != nil && status.Of(err) != status.Usage {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCheckpointName(t *testing.T) {
	type result struct {
		version    int64
		hidden, ok bool
	}
	for name, want := range map[string]result{
		"v4": {4, false, true}, "latest": {}, "v04": {}, "x": {}, ".x": {},
		".v4": {4, true, true}, ".v4.tmp-12": {4, true, true}, ".vx": {0, true, true}, ".v": {0, true, true},
	} {
		v, hidden, ok := checkpointName(name)
		if ok != want.ok || ok && (result{v, hidden, ok}) != want {
			t.Errorf("%q: %d %v %v", name, v, hidden, ok)
		}
	}
}

// A duration has parts of a millisecond, and is never negative, even if the
// clock was set back since begin.
func TestDuration(t *testing.T) {
	d := open(t, t.TempDir())
	addStore(t, d, "x")
	for shift, want := range map[time.Duration][2]float64{
		-1500 * time.Microsecond: {1.5, 1000},
		time.Hour:                {0, 0},
	} {
		b, err := d.Begin(t.Context(), "x", "", record.Causality{})
		if err != nil {
			t.Fatal(err)
		}
		begun := b.Checkpoint.CreatedAt.Add(shift).UnixMicro()
		if err := d.exec("UPDATE checkpoints SET created_at = ? WHERE id = ?", begun, b.Checkpoint.ID); err != nil {
			t.Fatal(err)
		}
		c, err := d.Commit(t.Context(), At{StoreID: b.Store.ID, Number: b.Checkpoint.Version}, record.Clone{Method: "link"})
		if err != nil {
			t.Fatal(err)
		}
		if c.DurationMS < want[0] || c.DurationMS > want[1] {
			t.Errorf("shifted by %v: %v ms", shift, c.DurationMS)
		}
	}
}

// What Close leaves in the log is there for the next, and a long log is folded
// in, so that it does not grow for ever.
func TestCloseKeepsAShortLog(t *testing.T) {
	home := t.TempDir()
	longest := int64(0)
	for i := range 60 {
		d, err := OpenOrCreate(t.Context(), home)
		if err != nil {
			t.Fatal(err)
		}
		addStore(t, d, "s"+formatVersion(int64(i)))
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		_ = d.disconnect() // as the end of the process would, but for the folding
		if st, err := os.Stat(filepath.Join(home, File+"-wal")); err == nil {
			longest = max(longest, st.Size())
		}
	}
	if longest > keepWAL {
		t.Errorf("the log grew to %d bytes", longest)
	}
	if list, err := open(t, home).Stores(t.Context(), false); err != nil || len(list) != 60 {
		t.Errorf("%d stores, %v", len(list), err)
	}
}

// A process that keeps the lock is named as the cause, and an interrupt ends
// the wait at once.
func TestLockedForLong(t *testing.T) {
	home := t.TempDir()
	holder, waiter := open(t, home), open(t, home)
	if err := holder.exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	defer func(was time.Duration) { patience = was }(patience)
	patience = 300 * time.Millisecond
	_, err := waiter.Add(t.Context(), record.Store{Name: "x", Status: record.StoreReady, MountPath: "/x"})
	if !errors.Is(err, errBusy) || strings.Contains(err.Error(), "database is locked") || status.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	patience = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := waiter.Begin(ctx, "x", "", record.Causality{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("an interrupted wait took %v", took)
	}
	if _, err := waiter.Stores(t.Context(), true); err != nil {
		t.Errorf("a reader must not wait for a writer: %v", err)
	}
}

// A change that fails leaves nothing behind, and the connection usable.
func TestFailedChange(t *testing.T) {
	d := open(t, t.TempDir())
	s := addStore(t, d, "x")
	taken := addStore(t, d, "y").MountPath
	size := int64(7)
	if _, err := d.Set(t.Context(), Ref{ID: s.ID}, Change{SizeBytes: &size, MountPath: &taken}); err == nil {
		t.Error("a mount path was taken twice")
	}
	got, err := d.Store(t.Context(), Ref{Name: "x"})
	if err != nil || got.SizeBytes != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := d.Remove(t.Context(), Ref{ID: s.ID}); err != nil {
		t.Error(err)
	}
}
