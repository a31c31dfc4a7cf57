package main

import (
	"os"
	"path/filepath"
	"testing"

	"agentfs.internal/tool/status"
)

// TestReserve fills a filesystem: a checkpoint is refused below the reserve, and
// may use it when it is told to.
func TestReserve(t *testing.T) {
	root := tmpfs(t) // 64 MiB: the reserve is 1 MiB
	s := newStore(t, filepath.Join(root, "store"))
	s.create(t, 1)
	ballast := filepath.Join(root, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(block)
	}
	s.run(t, status.General, "create", "--bundle", s.bundle, "--to", s.saved(2))
	if _, err := os.Stat(s.saved(2)); !os.IsNotExist(err) {
		t.Errorf("a refused checkpoint is there: %v", err)
	}
	s.create(t, 3, "--reserve=false")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s.create(t, 4)
}
