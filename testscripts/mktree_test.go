//go:build linux

package testscripts

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// mktreeMain is mktree [-change N] DIR: makes a tree as projects have them, with
// all that a restore could lose; with -change, changes all of it, for each N in a
// different way.
func mktreeMain() {
	log.SetFlags(0)
	change := flag.Uint64("change", 0, "change the tree that there is, in way `N`")
	packages := flag.Int("packages", 150, "`number` of packages in node_modules")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: mktree [-change N] [-packages N] DIR")
	}
	t := tree{dir: flag.Arg(0), rand: rand.New(rand.NewPCG(1, *change)), packages: *packages}
	if *change > 0 {
		t.change()
	} else {
		t.make()
	}
	if t.err != nil {
		log.Fatalf("mktree: %v", t.err)
	}
}

// tree makes a tree. The first error ends the work.
type tree struct {
	dir      string
	rand     *rand.Rand
	packages int
	err      error
}

func (t *tree) make() {
	t.git()
	t.nodeModules()
	t.oddNames()
	t.oddFiles()
	t.sparse()
	t.manyNames()
}

// do runs one step unless an earlier one has failed.
func (t *tree) do(step func(path string) error, name string) {
	if t.err == nil {
		path := filepath.Join(t.dir, name)
		if t.err = os.MkdirAll(filepath.Dir(path), 0o755); t.err == nil {
			t.err = step(path)
		}
	}
}

func (t *tree) write(name string, size int, mode fs.FileMode) {
	t.do(func(path string) error {
		if err := os.WriteFile(path, t.bytes(size), 0o600); err != nil {
			return err
		}
		return os.Chmod(path, mode)
	}, name)
}

func (t *tree) bytes(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(t.rand.Uint32())
	}
	return b
}

// git makes a repository with commits, packed and loose objects, a branch and an
// uncommitted change.
func (t *tree) git() {
	for i := range 30 {
		t.write(fmt.Sprintf("repo/src/f%02d.go", i), 100+t.rand.IntN(8000), 0o644)
	}
	t.run("git", "init", "-q", "-b", "main", "repo")
	for range 3 {
		t.write("repo/src/f00.go", 3000, 0o644)
		t.run("git", "-C", "repo", "add", "-A")
		t.run("git", "-C", "repo", "commit", "-q", "-m", "a commit")
	}
	t.run("git", "-C", "repo", "gc", "-q")
	t.run("git", "-C", "repo", "checkout", "-q", "-b", "topic")
	t.write("repo/src/new.go", 500, 0o644)
}

func (t *tree) run(name string, args ...string) {
	t.do(func(dir string) error {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %v: %w: %s", name, args, err, out)
		}
		return nil
	}, "")
}

// nodeModules makes many small files in deep folders.
func (t *tree) nodeModules() {
	for i := range t.packages {
		pkg := fmt.Sprintf("node_modules/@scope%d/pkg%d", i%7, i)
		t.write(pkg+"/package.json", 300+t.rand.IntN(1000), 0o644)
		for j := range 8 {
			t.write(fmt.Sprintf("%s/dist/lib/es/f%d.js", pkg, j), t.rand.IntN(4000), 0o644)
		}
		t.write(pkg+"/bin/run.js", 200, 0o755)
		t.do(func(path string) error { return os.Symlink("../../../"+pkg+"/bin/run.js", path) }, fmt.Sprintf("node_modules/.bin/run%d", i))
	}
}

func (t *tree) oddNames() {
	for _, name := range []string{
		"a b", "new\nline", "not utf-8 \xff\xfe", "-rf", "tab\tand\rreturn", "quote\"'`", "$HOME", "*", "~",
		"\\back", "\x01\x1b[31m", "ünïcödé", "n\u0308fc", strings.Repeat("x", 255), ".hidden", "...", " ",
	} {
		t.write("odd/"+name, 10, 0o644)
		t.write("odd/dir "+name[:min(len(name), 200)]+"/inside", 10, 0o644)
	}
	t.do(func(path string) error { return os.Symlink("no\nwhere \xff", path) }, "odd/dangling")
}

func (t *tree) oddFiles() {
	for _, mode := range []fs.FileMode{0o000, 0o400, 0o600, 0o644, 0o777, 0o755 | fs.ModeSetuid, 0o755 | fs.ModeSetgid, 0o644 | fs.ModeSticky} {
		t.write(fmt.Sprintf("modes/%o", uint32(mode)), 20, mode)
	}
	t.write("empty", 0, 0o644)
	t.do(func(path string) error { return os.Mkdir(path, 0o700) }, "empty dir")
	t.do(func(path string) error { return syscall.Mkfifo(path, 0o600) }, "fifo")
	t.write("owned", 10, 0o640)
	t.do(func(path string) error { return os.Lchown(path, os.Getuid(), os.Getgid()+1) }, "owned")
	t.do(func(path string) error { return os.Chtimes(path, time.Unix(0, 1), time.Unix(1234567890, 123456789)) }, "owned")
	t.write("first name", 5000, 0o644)
	t.do(func(path string) error { return os.Link(filepath.Join(t.dir, "first name"), path) }, "links/second name")
	t.do(func(path string) error { return os.Link(filepath.Join(t.dir, "first name"), path) }, "links/third name")
	for name, value := range map[string]string{"user.short": "x", "user.bin": "\x00\xff", "user.long": strings.Repeat("v", 3000)} {
		t.do(func(path string) error { return syscall.Setxattr(path, name, []byte(value), 0) }, "owned")
	}
	t.do(func(path string) error { return syscall.Setxattr(path, "user.dir", []byte("d"), 0) }, "empty dir")
}

// sparse makes a file of 256 MiB with three islands of data in it.
func (t *tree) sparse() {
	t.do(func(path string) error {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Truncate(256 << 20); err != nil {
			return err
		}
		for _, at := range []int64{4096, 100<<20 + 17, 255 << 20} {
			if _, err := f.WriteAt(t.bytes(10000), at); err != nil {
				return err
			}
		}
		return nil
	}, "sparse")
}

// manyNames makes a folder that needs an index.
func (t *tree) manyNames() {
	for i := range 500 {
		t.write(fmt.Sprintf("many/a rather long name, so that the folder grows, number %06d", i), 0, 0o644)
	}
}

// change changes, moves, deletes and adds.
func (t *tree) change() {
	var files []string
	t.err = filepath.WalkDir(t.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	for _, path := range files {
		if t.err == nil {
			t.err = t.changeOne(path)
		}
	}
	t.write(fmt.Sprintf("added/%d", t.rand.Uint64()), 100_000, 0o644)
	t.do(os.RemoveAll, "links")
	t.do(func(path string) error { return os.MkdirAll(path, 0o755) }, "links/again")
}

func (t *tree) changeOne(path string) error {
	switch t.rand.IntN(6) {
	case 0:
		return os.Remove(path)
	case 1:
		return os.Rename(path, path[:min(len(path), len(filepath.Dir(path))+200)]+".moved")
	case 2:
		return os.Chmod(path, fs.FileMode(t.rand.IntN(0o1000)))
	case 3:
		return os.Truncate(path, int64(t.rand.IntN(9000)))
	case 4:
		return os.Chtimes(path, time.Time{}, time.Unix(t.rand.Int64N(2e9), 0))
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(bytes.Repeat(t.bytes(16), 20), int64(t.rand.IntN(5000)))
	return err
}
