package db

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"agentfs.internal/tool/record"
)

// fixture puts the file of a schema version, as that version's cpdb wrote it,
// into a home.
func fixture(t *testing.T, version int) (home string) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("testdata/schema-%d.db", version))
	if err != nil {
		t.Fatal(err)
	}
	home = t.TempDir()
	if err := os.WriteFile(filepath.Join(home, File), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// Every schema version ever shipped is opened, brought to the newest and can be
// worked with: two stores, four checkpoints, one of them deleted, whose child is its
// parent's then.
func TestEverySchemaVersion(t *testing.T) {
	for version := 1; version <= len(migrations); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			d := open(t, fixture(t, version))
			checkFixtureStore(t, d, version)
			checkFixtureCheckpoints(t, d, version)
			checkFixtureHistory(t, d, version)
			b, err := d.Begin(t.Context(), "myapp", "goes on", record.Causality{})
			if err != nil {
				t.Fatal(err)
			}
			if b.Checkpoint.Version != 5 || b.Checkpoint.Parent != 3 || len(b.Leftovers) != 1 || b.Leftovers[0].Version != 4 {
				t.Errorf("begun %+v, leftovers %+v", b.Checkpoint, b.Leftovers)
			}
		})
	}
}

func checkFixtureStore(t *testing.T, d *DB, version int) {
	t.Helper()
	s, err := d.Store(t.Context(), Ref{Name: "myapp"})
	if err != nil {
		t.Fatal(err)
	}
	mounted := time.Date(2026, 11, 20, 16, 54, 47, 0, time.UTC)
	if s.MountedAt == nil || s.MountedAt.Truncate(time.Second) != mounted {
		t.Errorf("mounted at %v", s.MountedAt)
	}
	s.MountedAt = nil
	want := record.Store{
		ID: "87ba644f1df1bc8b0f7638dc0431b015", Name: "myapp", Status: "ready",
		BundlePath: "/home/someone/.agentfs/stores/myapp/myapp.sparsebundle",
		MountPath:  "/home/someone/projects/myapp",
		SizeBytes:  50 << 30, CreatedAt: s.CreatedAt, NextVersion: 5, Checkpoints: 2, Latest: 3, Base: 3,
	}
	if *s != want {
		t.Errorf("store %+v", *s)
	}
	other, err := d.Store(t.Context(), Ref{Name: "oldproj"})
	forkedFrom := map[bool]string{true: "myapp v3"}[version >= 2]
	if err != nil || other.Status != "restoring" || other.MountedAt != nil || other.ForkedFrom != forkedFrom {
		t.Errorf("store %+v, %v", other, err)
	}
}

func checkFixtureCheckpoints(t *testing.T, d *DB, version int) {
	t.Helper()
	list, err := d.Checkpoints(t.Context(), "myapp", true, 0)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d checkpoints, %v", len(list), err)
	}
	c := list[1]
	want := record.Checkpoint{
		ID: 3, StoreID: "87ba644f1df1bc8b0f7638dc0431b015", Version: 3, Parent: 1, ParentID: 1, Status: "ready",
		Dir:     "/home/someone/.agentfs/stores/myapp/checkpoints/v3",
		Message: "before risky refactor", Method: "link", Bands: 87, Bytes: 681574400, ChangedBands: 3,
		CreatedAt: c.CreatedAt, DurationMS: 61.64, Pinned: version >= 2,
	}
	want.DurableAt = &c.CreatedAt // what came before schema 4 was durable at once
	if version >= 4 {
		want.DurableAt, want.BootID = nil, "b0e7f6a6-5d0c-4e59-9f53-6a1f3f2a7c11"
	}
	if version >= 3 {
		want.Index, want.Changes, want.LinesAdded, want.LinesDeleted = record.IndexDone, 1, 7, 3
	}
	if !reflect.DeepEqual(*c, want) || c.CreatedAt.Year() != 2026 {
		t.Errorf("checkpoint %+v", *c)
	}
}

// What is indexed in a file of version 3 is found, and what is not, by its message.
func checkFixtureHistory(t *testing.T, d *DB, version int) {
	t.Helper()
	for _, words := range [][]string{{"auth"}, {"risky"}} {
		list, err := d.Search(t.Context(), "myapp", words, 0)
		if found := len(list) == 1; err != nil || found != (version >= 3 || words[0] == "risky") {
			t.Errorf("%q: %d found, %v", words, len(list), err)
		}
	}
	if list, err := d.Trace(t.Context(), "myapp", nil, "src/auth.ts"); err != nil || version >= 3 && len(list[0].Change.Hunks) != 2 {
		t.Errorf("trace: %v, %v", list, err)
	}
}

// What an older version has left is told of beside it from then on.
func TestUpgradeTells(t *testing.T) {
	home := fixture(t, 3)
	if err := os.MkdirAll(filepath.Join(home, "stores", "myapp"), 0o700); err != nil {
		t.Fatal(err)
	}
	open(t, home)
	rec, err := readNote(storeFile(home, "myapp"))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := storeIn(rec, "myapp"); err != nil || s.NextVersion != 5 || s.Base != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Of many that meet an old file each migration runs once.
func TestMigrateAtOnce(t *testing.T) {
	home := fixture(t, 1)
	list := append(migrations[:1:1], "ALTER TABLE stores ADD COLUMN colour TEXT", "ALTER TABLE stores ADD COLUMN shape TEXT")
	var opened []*DB // all, before the first migrates
	for range 8 {
		opened = append(opened, open2(t, home))
	}
	var wg sync.WaitGroup
	for _, d := range opened {
		wg.Go(func() {
			if err := d.migrate(t.Context(), list); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, version, _, err := open2(t, home).header(t.Context()); err != nil || version != len(list) {
		t.Errorf("version %d, %v", version, err)
	}
}

// open2 opens a file of any version without the check for it.
func open2(t *testing.T, home string) *DB {
	t.Helper()
	d := &DB{home: home, path: filepath.Join(home, File)}
	if err := d.connect(t.Context(), dsn(d.path, "rw")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.disconnect() })
	return d
}

// A migration that fails changes nothing.
func TestMigrationFails(t *testing.T) {
	d := open2(t, fixture(t, 1))
	list := append(migrations[:1:1], "ALTER TABLE stores ADD COLUMN colour TEXT; SELECT no_such_function()")
	if err := d.migrate(t.Context(), list); err == nil {
		t.Fatal("want an error")
	}
	if _, version, _, err := d.header(t.Context()); err != nil || version != 1 {
		t.Errorf("version %d, %v", version, err)
	}
	if err := d.exec("ALTER TABLE stores ADD COLUMN colour TEXT"); err != nil {
		t.Errorf("half of it was kept: %v", err)
	}
}
