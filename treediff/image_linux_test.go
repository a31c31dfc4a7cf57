package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// twoImages fills a filesystem in an image, copies the image, and mounts both: A as
// it was, B to be changed.
func twoImages(t testing.TB, size int64, fill func(root string)) (a, b string, parted time.Time) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: mounts")
	}
	dir := t.TempDir()
	image := filepath.Join(dir, "a.img")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		t.Fatal(err)
	}
	sh(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=1", image)
	a, b = filepath.Join(dir, "a"), filepath.Join(dir, "b")
	mount(t, image, a)
	fill(a)
	sh(t, "umount", a)
	parted = time.Now()
	sh(t, "cp", "--sparse=always", image, filepath.Join(dir, "b.img"))
	mount(t, image, a)
	mount(t, filepath.Join(dir, "b.img"), b)
	return a, b, parted
}

// mount mounts an image until the end of the test.
func mount(t testing.TB, image, at string) {
	t.Helper()
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, "mount", "-o", "loop,noatime", image, at)
	t.Cleanup(func() {
		for unix.Unmount(at, 0) == nil { // twice mounted, twice unmounted
		}
	})
}

func sh(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// TestOneImage: the quick way finds what the thorough way finds, in images that
// parted a moment ago, and apply makes them equal by it.
func TestOneImage(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	g := &gen{t: t, rnd: rnd}
	a, b, parted := twoImages(t, 64<<20, func(root string) {
		g.root = root
		for range 80 {
			g.add()
		}
		for range 40 {
			g.edit()
		}
	})
	want := snapshot(t, a)
	g.root = b
	quick := []string{"--one-image", "--parted", parted.Format(time.RFC3339Nano)}
	for round := range 6 {
		for range 1 + rnd.IntN(30) {
			g.edit()
		}
		if x, y := run(t, append(quick, a, b)...), run(t, a, b); x != y {
			t.Fatalf("round %d: with --one-image: %s\nwithout: %s", round, x, y)
		}
		run(t, append([]string{"apply", a, b}, quick...)...)
		same(t, round, want, a, b)
	}
}

// TestParted: a file that was changed in the tick of the clock in which the images
// parted is read, whatever its times say.
func TestParted(t *testing.T) {
	a, b, _ := twoImages(t, 16<<20, func(root string) {
		if err := os.WriteFile(filepath.Join(root, "file"), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	// What a clock that stands still would do: the image is changed behind the
	// filesystem, all times stay.
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(a, "file"), &st); err != nil {
		t.Fatal(err)
	}
	changed := time.Unix(st.Ctim.Unix())
	sh(t, "umount", b)
	image := b + ".img"
	data, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(data), "old\x00\x00\x00\x00")
	if at < 0 {
		t.Fatal("the file's block is not in the image")
	}
	copy(data[at:], "new")
	if err := os.WriteFile(image, data, 0o600); err != nil {
		t.Fatal(err)
	}
	mount(t, image, b)
	for after, finds := range map[time.Duration]bool{
		0: true, 10 * time.Millisecond: true, -time.Second: true, time.Second: false, -3 * time.Second: false,
	} {
		out := run(t, a, b, "--one-image", "--parted", changed.Add(after).Format(time.RFC3339Nano))
		if strings.Contains(out, "modified") != finds {
			t.Errorf("parted %v after the change: %q", after, out)
		}
	}
	if out := run(t, a, b, "--one-image"); out != "" {
		t.Errorf("times are believed where nothing is said of the parting: %q", out)
	}
}

// BenchmarkDiff is the comparison of a tree of 36,000 files with ten changes, by
// the real binary, warm.
//
//	go test -run '^$' -bench Diff
func BenchmarkDiff(b *testing.B) {
	old, now, _ := twoImages(b, 1<<30, func(root string) { project(b, root, 36_000) })
	for i := range 10 {
		if err := os.WriteFile(filepath.Join(now, fmt.Sprintf("pkg%d/lib1/f3.js", i*100)), []byte("changed\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range [][]string{{}, {"--one-image"}, {"--one-image", "--name-only"}} {
		b.Run(strings.TrimSpace("diff "+strings.Join(args, " ")), func(b *testing.B) {
			for b.Loop() {
				sh(b, "treediff", append(args, old, now)...)
			}
		})
	}
	b.Run("apply --one-image", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			for j := range 10 {
				name := filepath.Join(now, fmt.Sprintf("pkg%d/lib1/f3.js", j*100))
				if err := os.WriteFile(name, fmt.Appendf(nil, "changed %d\n", i), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			b.StartTimer()
			sh(b, "treediff", "apply", "--one-image", old, now)
		}
	})
}

// project makes a tree as projects have them: 12 files in a directory.
func project(t testing.TB, root string, files int) {
	line := []byte("exports.value = require('./other') // some text\n")
	for i := range files {
		at := filepath.Join(root, fmt.Sprintf("pkg%d/lib%d", i/36, i/12%3))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("f%d.js", i%12)), line, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
