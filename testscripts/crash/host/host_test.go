//go:build linux

package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is the recording filesystem's own process, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "record" {
		if err := Serve(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// recording mounts a recording filesystem. It gives the mountpoint, on a tmpfs that has
// room for states, too, and what unmounts it and reads the log.
func recording(t *testing.T) (string, func() *Log) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	work := t.TempDir()
	if err := unix.Mount("crash", work, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(work, unix.MNT_DETACH) })
	mnt, below, log := filepath.Join(work, "mnt"), filepath.Join(work, "below"), filepath.Join(work, "log")
	for _, dir := range []string{mnt, below} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe", "record", mnt, below, log)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	return mnt, func() *Log {
		t.Helper()
		if err := unix.Unmount(mnt, 0); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		l, err := Read(log)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// script runs a script in dir and fails where it does.
func script(t *testing.T, dir, text string) {
	t.Helper()
	cmd := exec.Command("sh", "-euc", text)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", text, err, out)
	}
}

// listing is a tree's names, types, modes, link counts and contents.
func listing(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("sh", "-euc", `find . -mindepth 1 ! -type l -printf '%P %y %m %n\n' | sort; find . -type l -printf '%P -> %l\n' | sort; find . -type f | sort | xargs -r sha256sum`)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	return string(out)
}

// TestWhole records everything that changes something and builds it again.
func TestWhole(t *testing.T) {
	mnt, end := recording(t)
	script(t, mnt, `
mkdir a a/b; echo one >a/f; ln a/f a/b/g; ln -s f a/s; echo two >>a/b/g; chmod 400 a/f
test $(stat -c %h a/f) = 2
dd if=/dev/urandom of=big bs=64k count=8 oflag=direct status=none
fallocate -p -o 4096 -l 8192 big; truncate -s 500000 big
mv a/b c; rm a/s; mkdir gone; rmdir gone; echo x >a/f2; mv -f a/f2 c/h; echo y >t; echo zz >t; cp big big2; sync big2 c
`)
	for _, name := range []string{"x", "y"} {
		if err := os.Mkdir(filepath.Join(mnt, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script(t, mnt, "echo 1 >x/1; echo 2 >y/2")
	if err := unix.Renameat2(unix.AT_FDCWD, mnt+"/x", unix.AT_FDCWD, mnt+"/y", unix.RENAME_EXCHANGE); err != nil {
		t.Fatal(err)
	}
	want := listing(t, mnt)
	l := end()
	s := prefix(l, len(l.Ops), rand.New(rand.NewPCG(1, 1)))
	dir := filepath.Join(filepath.Dir(mnt), "state")
	if err := errors.Join(os.Mkdir(dir, 0o700), s.Build(dir)); err != nil {
		t.Fatal(err)
	}
	if have := listing(t, dir); have != want {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
}

// TestLinks asks for the number of links as the band server does, without a question
// to the filesystem, right after it has changed.
func TestLinks(t *testing.T) {
	mnt, end := recording(t)
	path := func(name string) string { return filepath.Join(mnt, name) }
	if err := os.WriteFile(path("band"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path("band"), unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	links := func(want uint32) {
		t.Helper()
		var st unix.Statx_t
		if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_NLINK|unix.STATX_MODE, &st); err != nil || st.Nlink != want {
			t.Errorf("%d links, want %d (%v)", st.Nlink, want, err)
		}
	}
	links(1)
	for n := range uint32(3) {
		script(t, mnt, fmt.Sprintf("ln band other%d", n))
		links(n + 2)
	}
	script(t, mnt, "echo new >new; mv new other0")
	links(3)
	script(t, mnt, "rm other1")
	links(2)
	script(t, mnt, "rm band other2")
	links(0)
	unix.Close(fd)
	end()
}

// crash builds a state of a model, of all that was recorded, and tells its files.
func crash(t *testing.T, l *Log, m Model, seed uint64, below string) string {
	t.Helper()
	dir, err := os.MkdirTemp(below, "state-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := m.State(l, len(l.Ops), rand.New(rand.NewPCG(seed, 1))).Build(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, e.Name()+"="+string(bytes.TrimRight(text, "\x00\n")))
	}
	return strings.Join(files, " ")
}

// TestModels looks at what they keep and lose.
func TestModels(t *testing.T) {
	mnt, end := recording(t)
	script(t, mnt, `
echo safe >a; sync a; mv a b; sync .
echo lost >b2; mv b2 b; echo unsynced >c; echo synced >d; sync d; mv d e`)
	l := end()
	seen := map[string]map[string]int{}
	for _, m := range Models {
		seen[m.Name] = map[string]int{}
		for seed := range uint64(200) {
			seen[m.Name][crash(t, l, m, seed, filepath.Dir(mnt))]++
		}
	}
	for model, want := range map[string][]string{
		"host-prefix": {"b=lost c=unsynced e=synced"},
		"host-fsync":  {"b= c= d=synced"},
		"host-drop":   {"b=lost c=unsynced d=synced", "b= c= e=synced", "b=lost c= d=synced"},
		"host-any":    {"b=safe", "b=lost", "b=safe b2=lost", "b=safe e=synced", "b=safe c=unsynced d=synced", "b= c= e=synced"},
	} {
		for _, state := range want {
			if seen[model][state] == 0 {
				t.Errorf("%s: never %q, but %v", model, state, seen[model])
			}
		}
	}
	if len(seen["host-prefix"]) != 1 || len(seen["host-fsync"]) != 1 {
		t.Errorf("these are certain: %v, %v", seen["host-prefix"], seen["host-fsync"])
	}
	for model, states := range seen {
		for state := range states {
			if !strings.Contains(" "+state, " b=") {
				t.Errorf("%s: a rename lost both names: %q", model, state)
			}
			if strings.Contains(state, "d=") && strings.Contains(state, "e=") {
				t.Errorf("%s: a rename left both names: %q", model, state)
			}
			if !strings.Contains(state, "synced") && model == "host-drop" {
				t.Errorf("%s: a synced file without a name: %q", model, state)
			}
		}
	}
}
