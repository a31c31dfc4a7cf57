package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// gen makes random trees, and edits them at random.
type gen struct {
	t    *testing.T
	rnd  *rand.Rand
	root string
	n    int // numbers names
}

// must fails the test; what an earlier edit has made impossible is no failure.
func (g *gen) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gen) name() string {
	odd := []string{"", " ", "\xff", "\n", "ü", "-rf", ".git", `"`, "\\", strings.Repeat("x", 200), ".treediff-0123abcd"}
	g.n++
	return fmt.Sprintf("%d%s", g.n, odd[g.rnd.IntN(len(odd))])
}

// paths lists all paths below the root for which want is true.
func (g *gen) paths(want func(os.FileInfo) bool) []string {
	var list []string
	g.must(filepath.Walk(g.root, func(path string, info os.FileInfo, err error) error {
		if err == nil && path != g.root && want(info) {
			list = append(list, path)
		}
		return err
	}))
	return list
}

func (g *gen) pick(want func(os.FileInfo) bool) string {
	list := g.paths(want)
	if len(list) == 0 {
		return ""
	}
	return list[g.rnd.IntN(len(list))]
}

func isDir(i os.FileInfo) bool  { return i.IsDir() }
func isFile(i os.FileInfo) bool { return i.Mode().IsRegular() }
func isAny(os.FileInfo) bool    { return true }

// dir is some directory, perhaps the root.
func (g *gen) dir() string {
	if d := g.pick(isDir); d != "" && g.rnd.IntN(5) > 0 {
		return d
	}
	return g.root
}

// add makes something new.
func (g *gen) add() { g.make(filepath.Join(g.dir(), g.name())) }

func (g *gen) make(path string) {
	switch g.rnd.IntN(12) {
	case 0, 1:
		g.must(os.Mkdir(path, 0o755))
	case 2:
		g.must(os.Symlink(strings.Repeat("../", g.rnd.IntN(4))+g.name(), path))
	case 3:
		g.must(unix.Mkfifo(path, 0o640))
	case 4:
		g.must(unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, uint32(3+g.rnd.IntN(5))))))
	case 5:
		g.sparse(path)
	case 6:
		g.must(unix.Mknod(path, unix.S_IFSOCK|0o600, 0))
	default:
		g.must(os.WriteFile(path, g.bytes(g.rnd.IntN(9000)), 0o644))
	}
}

func (g *gen) sparse(path string) {
	f, err := os.Create(path)
	g.must(err)
	defer f.Close()
	g.must(f.Truncate(int64(g.rnd.IntN(4 << 20))))
	_, err = f.WriteAt(g.bytes(5000), int64(g.rnd.IntN(4<<20)))
	g.must(err)
}

func (g *gen) bytes(n int) []byte {
	line := fmt.Appendf(nil, "%d\n", g.rnd.Uint64())
	return bytes.Repeat(line, n/len(line)+1)[:n]
}

// edit changes something in one of many ways.
func (g *gen) edit() {
	edits := []func(){
		g.add, g.add, g.content, g.sameSize, g.mode, g.owner, g.xattr, g.acl, g.remove, g.rename, g.swap, g.link, g.unlink, g.touch, g.closed,
	}
	edits[g.rnd.IntN(len(edits))]()
}

func (g *gen) content() {
	if path := g.pick(isFile); path != "" {
		g.must(os.WriteFile(path, g.bytes(g.rnd.IntN(9000)), 0o644))
	}
}

// sameSize changes bytes and leaves size and times.
func (g *gen) sameSize() {
	path := g.pick(isFile)
	if path == "" {
		return
	}
	info, err := os.Stat(path)
	g.must(err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	g.must(err)
	defer f.Close()
	_, err = f.WriteAt([]byte{byte(g.rnd.Uint32())}, g.rnd.Int64N(info.Size()+1)/2)
	g.must(err)
	g.must(os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func (g *gen) mode() {
	if path := g.pick(func(i os.FileInfo) bool { return i.Mode()&os.ModeSymlink == 0 }); path != "" {
		g.must(unix.Chmod(path, g.rnd.Uint32N(0o10000)))
	}
}

func (g *gen) owner() {
	if path := g.pick(isAny); path != "" {
		g.must(os.Lchown(path, g.rnd.IntN(5), g.rnd.IntN(5)))
	}
}

func (g *gen) xattr() {
	path := g.pick(func(i os.FileInfo) bool { return i.IsDir() || i.Mode().IsRegular() })
	if path == "" {
		return
	}
	name := fmt.Sprintf("user.%d", g.rnd.IntN(3))
	if g.rnd.IntN(3) == 0 {
		_ = unix.Lremovexattr(path, name)
	} else {
		// All of a file's must fit into one block, and there are small ones.
		if err := unix.Lsetxattr(path, name, g.bytes(g.rnd.IntN(600)), 0); !errors.Is(err, unix.ENOSPC) {
			g.must(err)
		}
	}
}

// acl gives user 7 rights, in a directory also in what will be made there.
func (g *gen) acl() {
	path := g.pick(func(i os.FileInfo) bool { return i.IsDir() || i.Mode().IsRegular() })
	if path == "" {
		return
	}
	acl := "\x02\x00\x00\x00" +
		"\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x05\x00\x07\x00\x00\x00" + "\x04\x00\x04\x00\xff\xff\xff\xff" +
		"\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"
	name := "system.posix_acl_access"
	if info, err := os.Stat(path); err == nil && info.IsDir() && g.rnd.IntN(2) == 0 {
		name = "system.posix_acl_default"
	}
	g.must(unix.Lsetxattr(path, name, []byte(acl), 0))
}

func (g *gen) remove() {
	if path := g.pick(isAny); path != "" {
		g.must(os.RemoveAll(path))
	}
}

func (g *gen) rename() {
	from, to := g.pick(isAny), g.dir()
	if from != "" && to != from && !strings.HasPrefix(to, from+"/") {
		g.must(os.Rename(from, filepath.Join(to, g.name())))
	}
}

// swap puts something else in the place of something.
func (g *gen) swap() {
	if path := g.pick(isAny); path != "" {
		g.must(os.RemoveAll(path))
		g.make(path)
	}
}

func (g *gen) link() {
	if path := g.pick(func(i os.FileInfo) bool { return !i.IsDir() }); path != "" {
		g.must(os.Link(path, filepath.Join(g.dir(), g.name())))
	}
}

// unlink makes a name of a file a file of its own, with the same content.
func (g *gen) unlink() {
	path := g.pick(func(i os.FileInfo) bool {
		return i.Mode().IsRegular() && i.Sys().(*syscall.Stat_t).Nlink > 1
	})
	if path == "" {
		return
	}
	data, err := os.ReadFile(path)
	g.must(err)
	g.must(os.Remove(path))
	g.must(os.WriteFile(path, data, 0o644))
}

func (g *gen) touch() {
	if path := g.pick(func(i os.FileInfo) bool { return i.Mode().IsRegular() || i.IsDir() }); path != "" {
		at := time.Unix(g.rnd.Int64N(2e9), g.rnd.Int64N(1e9))
		g.must(os.Chtimes(path, at, at))
	}
}

// closed makes a directory one that cannot be written.
func (g *gen) closed() {
	if path := g.pick(isDir); path != "" {
		g.must(os.Chmod(path, 0o500))
	}
}
