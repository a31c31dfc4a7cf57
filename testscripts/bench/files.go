package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// removeAll deletes a directory, unless something is mounted in it: deleting
// would go on over there.
func removeAll(dir string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			return fmt.Errorf("%s is still mounted", f[4])
		}
	}
	return os.RemoveAll(dir)
}

// readAll reads every file below dir to its end: what tar and grep make of a
// disk, without their own work.
func readAll(ctx context.Context, dir string) error {
	buf := make([]byte, 128<<10)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return read(path, buf)
	})
}

func read(path string, buf []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		_, err := f.Read(buf)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// look stats everything below dir, as an editor or git does: its inodes are in
// the kernel's cache afterwards.
func look(dir string) error {
	return filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			_, err = d.Info()
		}
		return err
	})
}

// dropCaches makes the next reads come from the disk.
func dropCaches() error {
	settle()
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3\n"), 0)
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
