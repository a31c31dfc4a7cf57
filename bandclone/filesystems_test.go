package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// TestFilesystems holds every method to the same promises on real filesystems.
func TestFilesystems(t *testing.T) {
	for _, f := range []struct {
		name    string
		reflink bool
		dir     func(t *testing.T) string
	}{
		{"host", false, func(t *testing.T) string { return t.TempDir() }},
		{"tmpfs", false, tmpfs},
		{"xfs", true, func(t *testing.T) string { return loop(t, "xfs", 320<<20) }},
		{"btrfs", true, func(t *testing.T) string { return loop(t, "btrfs", 128<<20) }},
		{"ext4", false, func(t *testing.T) string { return loop(t, "ext4", 64<<20) }},
	} {
		t.Run(f.name, func(t *testing.T) {
			root := f.dir(t)
			t.Run("methods", func(t *testing.T) { testMethods(t, root, f.reflink) })
			t.Run("changes", func(t *testing.T) { testChanges(t, root, f.reflink) })
			t.Run("du", func(t *testing.T) { testUsage(t, root, f.reflink) })
		})
	}
}

// testMethods clones there and back by each method.
func testMethods(t *testing.T, root string, reflink bool) {
	for _, method := range []string{"", "link", "reflink", "copy"} {
		s := newStore(t, filepath.Join(root, "methods-"+method))
		args := func(verb string, more ...string) []string {
			return append([]string{verb, "--bundle", s.bundle, "--method", method}, more...)
		}
		if method == "reflink" && !reflink && strings.Contains(t.Name(), "host") {
			continue // whatever the host can
		}
		if method == "reflink" && !reflink {
			s.run(t, status.CannotRun, args("create", "--to", s.saved(1))...)
			if left, _ := os.ReadDir(filepath.Dir(s.saved(1))); len(left) > 0 {
				t.Errorf("%s left %v", method, left)
			}
			continue
		}
		s.create(t, 1, "--method", method)
		if alloc(t, s.saved(1)+"/2") > 64<<10 {
			t.Errorf("%s fills holes", method)
		}
		s.write(t, "1", 0, "changed")
		s.run(t, 0, args("restore", "--from", s.saved(1))...)
		s.equal(t, s.saved(1), s.bundle, true)
		s.run(t, 0, "restore", "--undo", "--bundle", s.bundle)
		s.equal(t, s.saved(1), s.bundle, false)
		s.run(t, 0, args("restore", "--from", s.saved(1))...)
		s.run(t, 0, "restore", "--finish", "--bundle", s.bundle)
		s.equal(t, s.saved(1), s.bundle, true)
	}
}

// testChanges writes a band in place, keeping its length and its time, right
// after it was cloned: only its extents or its content tell.
func testChanges(t *testing.T, root string, reflink bool) {
	method := map[bool]string{true: "reflink", false: "copy"}[reflink]
	s := newStore(t, filepath.Join(root, "changes"))
	s.create(t, 1, "--method", method)
	st, err := os.Stat(s.bundle + "/bands/1")
	if err != nil {
		t.Fatal(err)
	}
	s.overwrite(t, "1", 70000, "x")
	if err := os.Chtimes(s.bundle+"/bands/1", st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	if c := s.create(t, 2, "--method", method); c.ChangedBands != 1 {
		t.Errorf("changed bands: %d, want 1", c.ChangedBands)
	}
	if c := s.create(t, 3, "--method", method); c.ChangedBands != 0 {
		t.Errorf("changed bands: %d, want 0", c.ChangedBands)
	}
	s.equal(t, s.saved(1), s.saved(2), false)
	s.equal(t, s.saved(2), s.saved(3), true)
	s.overwrite(t, "1", 70000, "\x00")
	s.equal(t, s.saved(3), s.bundle, false)
}

// testUsage rewrites 64 KiB of a cloned band and wants exactly that back.
func testUsage(t *testing.T, root string, reflink bool) {
	method := map[bool]string{true: "reflink", false: "link"}[reflink]
	s := newStore(t, filepath.Join(root, "du"))
	s.create(t, 1, "--method", method)
	s.create(t, 2, "--method", method)
	if reflink {
		s.overwrite(t, "1", 64<<10, strings.Repeat("y", 64<<10))
	} else {
		s.write(t, "1", 0, strings.Repeat("y", 64<<10))
	}
	lines := strings.Split(strings.TrimSpace(s.run(t, 0, "du", "--bundle", s.bundle)), "\n")
	if len(lines) != 3 {
		t.Fatalf("du: %d lines, want 3", len(lines))
	}
	for i, want := range []int64{0, 0, 64 << 10} {
		var got struct{ Usage used }
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if u := got.Usage; u.ExclusiveBytes != want || u.SharedBytes+want != u.LogicalBytes || u.LogicalBytes == 0 {
			t.Errorf("%s: %+v, want %d exclusive", u.Name, u, want)
		}
	}
}

// store is a bundle with three bands: full, full, and nearly all hole.
type store struct{ root, bundle string }

func newStore(t *testing.T, root string) store {
	t.Helper()
	s := store{root, filepath.Join(root, "b.sparsebundle")}
	if err := os.MkdirAll(s.bundle+"/bands", 0o700); err != nil {
		t.Fatal(err)
	}
	full := strings.Repeat("0123456789abcdef", 1<<14)
	s.write(t, "0", 0, full)
	s.write(t, "1", 0, full)
	s.write(t, "2", 4<<20, "end")
	return s
}

func (s store) saved(v int) string {
	return filepath.Join(s.root, "checkpoints", "v"+string(rune('0'+v)))
}

// write replaces a band by a new file with text at off.
func (s store) write(t *testing.T, band string, off int64, text string) {
	t.Helper()
	_ = os.Remove(filepath.Join(s.bundle, "bands", band))
	s.overwrite(t, band, off, text)
}

// overwrite writes into a band in place.
func (s store) overwrite(t *testing.T, band string, off int64, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.bundle, "bands", band), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), off); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

// run runs bandclone and gives what it wrote.
func (s store) run(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, talk bytes.Buffer
	if code := command.Run(context.Background(), root(), args, command.IO{In: strings.NewReader(""), Out: &out, Err: &talk}); code != want {
		t.Fatalf("bandclone %s: status %d, want %d: %s", strings.Join(args, " "), code, want, &talk)
	}
	return out.String()
}

func (s store) create(t *testing.T, v int, args ...string) record.Clone {
	t.Helper()
	var c record.Clone
	out := s.run(t, 0, append([]string{"create", "--bundle", s.bundle, "--to", s.saved(v)}, args...)...)
	rec, err := record.Read(strings.NewReader(out))
	if err == nil {
		err = rec.Get("clone", &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s store) equal(t *testing.T, a, b string, want bool) {
	t.Helper()
	var got struct{ Compare comparison }
	if err := json.Unmarshal([]byte(s.run(t, 0, "compare", a, b)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Compare.Equal != want {
		t.Errorf("compare %s %s: %v, want %v", a, b, got.Compare.Equal, want)
	}
}

func alloc(t *testing.T, path string) int64 {
	t.Helper()
	out, err := exec.Command("du", "-B1", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, c := range strings.Fields(string(out))[0] {
		n = n*10 + int64(c-'0')
	}
	return n
}
