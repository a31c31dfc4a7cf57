package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestMkdir looks at names and errors; that they outlive a power cut is for "make
// crash" to see.
func TestMkdir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, "a/b/c")
	for range 2 {
		if err := MkdirAll(deep, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(deep); err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		t.Errorf("%v (%v)", info, err)
	}
	if err := Mkdir(deep, 0o700); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory that is there: %v", err)
	}
	if err := Mkdir(filepath.Join(dir, "x/y"), 0o700); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no parent: %v", err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if err := MkdirAll(path, 0o700); err == nil {
			t.Errorf("%s: a file in the way, and no error", path)
		}
	}
}
