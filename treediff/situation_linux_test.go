package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fill makes files with contents, and the directories that they need.
func fill(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMounts: what is mounted is left out, and a directory in which something is
// mounted is not removed, nor anything else before that is found.
func TestMounts(t *testing.T) {
	needRoot(t)
	for _, kind := range []string{"bind", "tmpfs"} {
		root := t.TempDir()
		a, b, other := filepath.Join(root, "a"), filepath.Join(root, "b"), filepath.Join(root, "other")
		fill(t, a, map[string]string{"kept/at/x": "1", "file": "1"})
		fill(t, b, map[string]string{"kept/at/x": "1", "file": "2", "only/in/b/x": "2"})
		fill(t, other, map[string]string{"precious": "1"})
		for _, at := range []string{"kept/at", "only/in/b"} {
			args := []string{"--bind", other, filepath.Join(b, at)}
			if kind == "tmpfs" {
				args = []string{"-t", "tmpfs", "none", filepath.Join(b, at)}
			}
			sh(t, "mount", args...)
			t.Cleanup(func() { _ = unix.Unmount(filepath.Join(b, at), 0) })
		}
		cmd := exec.Command("treediff", "apply", a, b)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 5 || !strings.Contains(string(out), "only/in/b: something is mounted there") {
			t.Fatalf("%s: %v: %s", kind, cmd.ProcessState, out)
		}
		if text, _ := os.ReadFile(filepath.Join(b, "file")); string(text) != "2" {
			t.Fatalf("%s: something was changed before", kind)
		}
		sh(t, "umount", filepath.Join(b, "only/in/b"))
		out, err := exec.Command("treediff", "apply", a, b).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "left out, something is mounted there: kept/at\n") {
			t.Fatalf("%s: %v: %s", kind, err, out)
		}
		if _, err := os.Stat(filepath.Join(b, "only")); err == nil {
			t.Fatalf("%s: only is there", kind)
		}
		if _, err := os.Stat(filepath.Join(other, "precious")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNobody: without root, directories that cannot be written are no hindrance,
// and have their modes again afterwards.
func TestNobody(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	bin, err := exec.LookPath("treediff")
	if err != nil {
		t.Fatal(err)
	}
	sh(t, "cp", bin, filepath.Join(root, "treediff"))
	a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
	fill(t, a, map[string]string{"closed/file": "1", "closed/below/file": "1", "beside/file": "1", "fresh/closed/x": "1"})
	fill(t, b, map[string]string{"closed/file": "2", "closed/more": "2", "closed/below/file": "1", "closed/gone/x": "2", "beside/file": "2"})
	sh(t, "chmod", "500", a+"/closed", a+"/fresh/closed", b+"/closed", b+"/closed/gone", a+"/closed/below")
	sh(t, "chmod", "555", b+"/beside")
	sh(t, "chown", "-R", "65534:65534", root)
	nobody := func(args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(root, "treediff"), args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	nobody("apply", a, b, "--", "beside/file")
	if info, _ := os.Stat(b + "/beside"); info.Mode().Perm() != 0o555 {
		t.Errorf("a directory outside of the restriction has mode %v now", info.Mode())
	}
	nobody("apply", a, b)
	if left := differing(snapshot(t, a), snapshot(t, b)); len(left) > 0 {
		t.Fatal(strings.Join(left, "\n"))
	}
}

// TestFull: what must go goes first, so that a full disk has room; where that is
// not enough the error names the path, no temporary name stays, and it can be
// run again.
func TestFull(t *testing.T) {
	_, b, _ := twoImages(t, 8<<20, func(string) {})
	root := t.TempDir()
	fill(t, root, map[string]string{"a": strings.Repeat("a", 3<<20), "b": strings.Repeat("b", 1<<20)})
	fill(t, b, map[string]string{"z": "", "filler": ""})
	sh(t, "sh", "-c", "rmdir "+b+"/lost+found; cat /dev/zero >"+b+"/z || true")
	run(t, "apply", root, b)
	if left := differing(snapshot(t, root), snapshot(t, b)); len(left) > 0 {
		t.Fatal(strings.Join(left, "\n"))
	}
	fill(t, root, map[string]string{"huge": strings.Repeat("h", 9<<20)})
	out, err := exec.Command("treediff", "apply", root, b).CombinedOutput()
	if err == nil || !strings.Contains(string(out), `restore "huge"`) || !strings.Contains(string(out), "no space left") {
		t.Fatalf("%v: %s", err, out)
	}
	if left, _ := filepath.Glob(b + "/.treediff-*"); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
	if err := os.Remove(filepath.Join(root, "huge")); err != nil {
		t.Fatal(err)
	}
	run(t, "apply", root, b)
}

// TestLive: while B is being changed a comparison fails at nothing.
func TestLive(t *testing.T) {
	rnd := seeded(t)
	a, b := twoTrees(t, rnd, 0)
	stop := make(chan struct{})
	var busy sync.WaitGroup
	finish := sync.OnceFunc(func() {
		close(stop)
		busy.Wait()
	})
	defer finish()
	busy.Go(func() {
		files := filepath.Join(b, "busy")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			at := filepath.Join(files, fmt.Sprint(i%7))
			switch i / 7 % 4 {
			case 0:
				_ = os.MkdirAll(filepath.Join(at, "x", "y"), 0o755)
			case 1, 3:
				_ = os.RemoveAll(at)
			case 2:
				_ = os.WriteFile(at, bytes.Repeat([]byte("x"), i%1000), 0o644)
			}
		}
	})
	fill(t, a, map[string]string{"busy/0": "1", "busy/1/x/y/z": "1", "busy/2": strings.Repeat("x", 10)})
	for range 60 {
		run(t, a, b)
		run(t, a, b, "--patch")
	}
	finish()
	run(t, "apply", a, b)
	same(t, 0, snapshot(t, a), a, b)
}

// TestHoles: a sparse file stays one.
func TestHoles(t *testing.T) {
	g := &gen{t: t, rnd: rand.New(rand.NewPCG(1, 2)), root: t.TempDir()}
	a, b := filepath.Join(g.root, "a"), filepath.Join(g.root, "b")
	for _, dir := range []string{a, b} {
		g.must(os.Mkdir(dir, 0o755))
	}
	f, err := os.Create(filepath.Join(a, "sparse"))
	g.must(err)
	g.must(f.Truncate(1 << 30))
	_, err = f.WriteAt([]byte("island"), 300<<20)
	g.must(err)
	g.must(f.Close())
	run(t, "apply", a, b)
	var st unix.Stat_t
	g.must(unix.Stat(filepath.Join(b, "sparse"), &st))
	if st.Size != 1<<30 || st.Blocks*512 > 1<<20 {
		t.Errorf("%d bytes, of which %d on the disk", st.Size, st.Blocks*512)
	}
	start := time.Now()
	g.must(os.WriteFile(filepath.Join(b, "island"), nil, 0o644))
	run(t, a, b)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("holes were read: %v", took)
	}
}

// TestProgress: nothing is said of what is quick, or as long as there is nothing to say.
func TestProgress(t *testing.T) {
	var text atomic.Value
	text.Store("")
	told := func() string { return text.Load().(string) }
	var quick, slow bytes.Buffer
	showProgress(&quick, true, told)()
	if quick.Len() > 0 {
		t.Errorf("%q", quick.String())
	}
	stop := showProgress(&slow, true, told)
	text.Store("Restoring files... 1234 of 5678")
	time.Sleep(patience + interval/2)
	stop()
	if want := strings.Repeat("\rRestoring files... 1234 of 5678", 2) + "\n"; slow.String() != want {
		t.Errorf("%q", slow.String())
	}
}
