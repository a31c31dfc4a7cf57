package db

import (
	"os"
	"path/filepath"
	"testing"

	"agentfs.internal/tool/record"
)

// Whatever is in the files that tell of a store and its checkpoint: a database comes of
// it that is whole and takes the next checkpoint, or the store is left out.
func FuzzRebuild(f *testing.F) {
	store := `{"store":{"id":"a","name":"x","status":"ready","bundle_path":"/b/x","mount_path":"/m","next_version":3,"base":1}}`
	checkpoint := `{"store":{"id":"a","name":"x"},"checkpoint":{"id":7,"store_id":"a","version":2,"parent":1,"message":"m","created_at":"2026-01-27T10:32:15Z","boot_id":"b","meta":{"k":"v"}}}`
	f.Add(store, checkpoint)
	f.Add("", checkpoint)
	f.Add(store, "{")
	f.Add(`{"store":{"id":"a","name":"x","status":"ready","bundle_path":"/b","mount_path":"/m","next_version":-5,"size_bytes":-1}}`, `{"checkpoint":{"id":9223372036854775807,"store_id":"a","version":2,"parent":99}}`)
	home := f.TempDir()
	dir := filepath.Join(home, "stores", "x")
	saved := filepath.Join(dir, "checkpoints", "v2")
	if err := os.MkdirAll(saved, 0o700); err != nil {
		f.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "x"), 0o700); err != nil { // found beside store.json where no other is
		f.Fatal(err)
	}
	d, err := openMemory(f.Context(), home)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = d.disconnect() }()
	f.Fuzz(func(t *testing.T, store, checkpoint string) {
		for path, text := range map[string]string{
			filepath.Join(dir, record.StoreFile):        store,
			filepath.Join(saved, record.CheckpointFile): checkpoint,
			filepath.Join(saved, "0"):                   "band",
		} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		tryRebuild(t, d)
	})
}

func tryRebuild(t *testing.T, d *DB) {
	found := &finding{home: d.home, warn: func(string, ...any) {}}
	if err := found.look(); err != nil {
		t.Fatal(err)
	}
	if err := d.exec("DELETE FROM stores"); err != nil {
		t.Fatal(err)
	}
	if _, err := found.write(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if problems, err := d.checkFile(); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	for _, s := range found.stores {
		if err := d.exec("UPDATE stores SET status = 'ready'"); err != nil {
			t.Fatal(err)
		}
		b, err := d.Begin(t.Context(), s.Name, "", record.Causality{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.checkpoints {
			if b.Checkpoint.Version <= c.Version {
				t.Errorf("v%d is used again", b.Checkpoint.Version)
			}
		}
	}
}
