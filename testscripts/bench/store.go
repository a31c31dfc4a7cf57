package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// store is a store of agentfs.
type store struct {
	name  string
	home  string
	mount string
}

// newStore makes a store whose bands lie below dir, and mounts it.
func (b *bench) newStore(ctx context.Context, name, dir string) (*store, error) {
	s := &store{name: name, home: filepath.Join(dir, "home"), mount: filepath.Join(dir, name)}
	b.undo.push("store "+name, s.remove)
	return s, s.agentfs(b.dir, "init", name, "--mount", s.mount).run(ctx)
}

// agentfs is a command line of agentfs, for somebody who stands in dir.
func (s *store) agentfs(dir string, args ...string) program {
	return program{dir: dir, env: []string{"AGENTFS_HOME=" + s.home}, args: append([]string{"agentfs"}, args...)}
}

// do runs agentfs from outside of the mount.
func (s *store) do(args ...string) program {
	return s.agentfs("/", append(args, "--store", s.name)...)
}

// remove works after Ctrl-C too, and where init has failed.
func (s *store) remove() error {
	err := s.agentfs("/", "delete", s.name, "-f").run(context.Background())
	if err == nil || !s.exists() {
		return nil
	}
	return err
}

func (s *store) exists() bool {
	_, err := os.Stat(filepath.Join(s.home, "stores", s.name))
	return err == nil
}

// copyIn fills a directory with what is in another one.
func copyIn(ctx context.Context, from, to string) error {
	if err := (program{args: []string{"cp", "-a", from + "/.", to}}).run(ctx); err != nil {
		return fmt.Errorf("copy the tree: %w", err)
	}
	settle()
	return nil
}
