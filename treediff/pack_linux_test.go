package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPackRandom: whatever there is in a tree is there again when its archive has been
// unpacked, by treediff or by tar; and the same tree gives the same bytes, copied or
// not, on one processor or many.
func TestPackRandom(t *testing.T) {
	rnd := seeded(t)
	for range 8 {
		a, b := twoTrees(t, rnd, 0)
		for _, tree := range []string{a, b} {
			removeSockets(t, tree)
		}
		pressed := pack(t, "GOMAXPROCS=4", a)
		if !bytes.Equal(pressed, pack(t, "GOMAXPROCS=1", b)) {
			t.Fatal("the copy of a tree has another archive")
		}
		for _, unpack := range [][]string{
			{"treediff", "unpack", "--devices"},
			{"tar", "--zstd", "--xattrs", "--xattrs-include=*", "--warning=no-timestamp", "-xpf", "-", "-C"},
		} {
			into := t.TempDir()
			cmd := exec.Command(unpack[0], append(unpack[1:], into)...)
			cmd.Stdin = bytes.NewReader(pressed)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v: %s", unpack, err, out)
			}
			if diff := run(t, a, into, "--times"); diff != "" {
				t.Fatalf("%s: %s", unpack[0], diff)
			}
		}
	}
}

// TestPackOdd: extended attributes whose names pax has no word for, and sockets, which
// are named and left out.
func TestPackOdd(t *testing.T) {
	needRoot(t)
	a, b := t.TempDir(), t.TempDir()
	g := &gen{t: t, root: a}
	fill(t, a, map[string]string{"f": "x"})
	for name, value := range map[string]string{"user.a=b%3Dc%": "v", "user.empty": "", "user.bin": "\x00\n\xff"} {
		g.must(unix.Setxattr(filepath.Join(a, "f"), name, []byte(value), 0))
	}
	g.must(unix.Mknod(filepath.Join(a, "sock"), unix.S_IFSOCK|0o600, 0))
	archive := filepath.Join(t.TempDir(), "a.tar")
	out, err := exec.Command("treediff", "pack", a, "--output", archive).CombinedOutput()
	g.must(err)
	if !strings.Contains(string(out), "left out, a tar has no sockets: sock\n") {
		t.Errorf("%s", out)
	}
	run(t, "unpack", b, "--input", archive)
	g.must(os.Remove(filepath.Join(a, "sock")))
	if diff := run(t, a, b); diff != "" {
		t.Error(diff)
	}
}

func pack(t *testing.T, env, tree string) []byte {
	t.Helper()
	cmd := exec.Command("treediff", "pack", tree)
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func removeSockets(t *testing.T, tree string) {
	t.Helper()
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSocket == 0 {
			return err
		}
		above := filepath.Dir(path)
		at, err := os.Stat(above)
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.Chtimes(above, at.ModTime(), at.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
}
