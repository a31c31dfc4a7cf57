package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/treediff/patch"
)

// twoTrees makes a random tree A and a copy of it, B, which is then edited.
func twoTrees(t *testing.T, rnd *rand.Rand, edits int) (a, b string) {
	t.Helper()
	needRoot(t)
	dir := t.TempDir()
	a, b = filepath.Join(dir, "a"), filepath.Join(dir, "b")
	g := &gen{t: t, rnd: rnd, root: a}
	g.must(os.Mkdir(a, 0o755))
	for range 60 {
		g.add()
	}
	for range 40 {
		g.edit()
	}
	if out, err := exec.Command("cp", "-a", a, b).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	g.root = b
	for range edits {
		g.edit()
	}
	return a, b
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: owners and devices")
	}
}

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// run runs treediff and gives what it writes.
func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("treediff", args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("treediff %q: %v: %s", args, err, errs.String())
	}
	return string(out)
}

// TestApplyRandom: whatever the edits, B is as A afterwards, and what had to be
// deleted, made and kept is right by a description that does not come from here.
func TestApplyRandom(t *testing.T) {
	rnd := seeded(t)
	for round := range 10 {
		a, b := twoTrees(t, rnd, 1+rnd.IntN(60))
		want := snapshot(t, a)
		checkReport(t, want, snapshot(t, b), run(t, a, b, "--times", "--no-renames"))
		checkHunks(t, run(t, a, b, "--hunks"))
		run(t, a, b, "--patch")
		run(t, a, b, "--stat")
		run(t, a, b, "--name-only")
		run(t, "apply", a, b)
		same(t, round, want, a, b)
	}
}

// same wants B to be as A was, and the comparison to find nothing.
func same(t *testing.T, round int, want map[string]string, a, b string) {
	t.Helper()
	if left := differing(want, snapshot(t, b)); len(left) > 0 {
		t.Fatalf("round %d:\n%s", round, strings.Join(left, "\n"))
	}
	if out := run(t, a, b, "--times"); out != "" {
		t.Fatalf("round %d: afterwards: %s", round, out)
	}
	if left := differing(want, snapshot(t, a)); len(left) > 0 {
		t.Fatalf("round %d: A was changed:\n%s", round, strings.Join(left, "\n"))
	}
}

// checkReport wants the records to name exactly the paths that differ.
func checkReport(t *testing.T, a, b map[string]string, out string) {
	t.Helper()
	have := map[string]string{}
	for _, c := range changes(t, out) {
		have[path(c)] = c.Kind
	}
	for path := range b {
		if _, ok := a[path]; !ok && have[path] != record.ChangeAdded {
			t.Errorf("%q was added: %q", path, have[path])
		}
	}
	for path, line := range a {
		other, ok := b[path]
		switch kind := have[path]; {
		case !ok && kind != record.ChangeDeleted:
			t.Errorf("%q was deleted: %q", path, kind)
		case ok && line == other && kind != "" && kind != record.ChangeMetadata:
			t.Errorf("%q is the same: %q", path, kind)
		case ok && line != other && kind == "":
			t.Errorf("%q differs: %s, and %s", path, line, other)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// checkHunks wants hunks where text was modified, and what they add up to counted.
func checkHunks(t *testing.T, out string) {
	t.Helper()
	for _, c := range changes(t, out) {
		added, deleted := patch.Count(c.Hunks)
		text := c.Kind == record.ChangeModified && c.LinesAdded != nil
		if text != (added+deleted > 0) || text && (*c.LinesAdded != added || *c.LinesDeleted != deleted) {
			t.Errorf("%+v", c)
		}
	}
}

func path(c record.Change) string {
	if c.PathBytes != nil {
		return string(c.PathBytes)
	}
	return c.Path
}

func changes(t *testing.T, out string) []record.Change {
	t.Helper()
	var list []record.Change
	for line := range strings.Lines(out) {
		var rec struct{ Change record.Change }
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		list = append(list, rec.Change)
	}
	return list
}

// TestApplyKilled kills apply at each of its steps, and then at random moments. Run
// again it finishes.
func TestApplyKilled(t *testing.T) {
	rnd := seeded(t)
	for _, step := range fault.Names() {
		if !strings.HasPrefix(step, "treediff.apply.") {
			continue
		}
		died := false
		for try := 0; try < 20 && !died; try++ {
			a, b := twoTrees(t, rnd, 60)
			want := snapshot(t, a)
			for range 1 + rnd.IntN(4) {
				died = killedAt(t, step, a, b) || died
				killedSoon(t, rnd, a, b)
			}
			run(t, "apply", a, b)
			same(t, try, want, a, b)
		}
		if !died {
			t.Errorf("never comes to %s", step)
		}
	}
}

// killedAt runs apply, to be killed at a step, and tells whether it was.
func killedAt(t *testing.T, step, a, b string) (died bool) {
	t.Helper()
	cmd := exec.Command("treediff", "apply", a, b)
	cmd.Env = append(os.Environ(), "AGENTFS_CRASH_AT="+step)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() > 0 {
		t.Fatalf("killed at %s: %v: %s", step, err, out)
	}
	return err != nil
}

// killedSoon runs apply and kills it within 20 ms.
func killedSoon(t *testing.T, rnd *rand.Rand, a, b string) {
	t.Helper()
	cmd := exec.Command("treediff", "apply", a, b)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(rnd.IntN(20_000)) * time.Microsecond)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestApplyPaths: with paths nothing else is touched, what was killed before is
// swept, and what is missing above them is made.
func TestApplyPaths(t *testing.T) {
	rnd := seeded(t)
	for round := range 5 {
		a, b := twoTrees(t, rnd, 60)
		for path := range snapshot(t, a) {
			if path == "." || rnd.IntN(8) > 0 {
				continue
			}
			before := snapshot(t, b)
			cmd := exec.Command("treediff", "apply", a, b, "--", path)
			if out, err := cmd.CombinedOutput(); err != nil {
				if strings.Contains(string(out), "in the way") {
					continue
				}
				t.Fatalf("%v: %s", err, out)
			}
			if out := run(t, a, b, "--times", "--no-renames", "--", path); strings.Contains(out, `"kind"`) && !onlyLinks(t, out) {
				t.Fatalf("round %d: %q: %s", round, path, out)
			}
			untouched(t, path, before, snapshot(t, b))
		}
	}
}

// onlyLinks: with one name of a file alone the others are not seen.
func onlyLinks(t *testing.T, out string) bool {
	for _, c := range changes(t, out) {
		if !slices.Equal(c.What, []string{"links"}) {
			return false
		}
	}
	return true
}

// untouched wants all but a path and what is below it to be as before, the
// directories above it excepted.
func untouched(t *testing.T, path string, before, after map[string]string) {
	t.Helper()
	for p, line := range before {
		if p == path || strings.HasPrefix(p, path+"/") || p == "." || strings.HasPrefix(path, p+"/") {
			continue
		}
		now, ok := after[p]
		cut := func(s string) string { s, _, _ = strings.Cut(s, " = "); return s }
		if !ok || cut(now) != cut(line) && !strings.HasPrefix(line, "4") {
			// Names of a file that was changed in place are changed with it.
			if ok && sharedWith(before, p, path) {
				continue
			}
			t.Fatalf("%q was restored, and %q changed: %s, and %s", path, p, line, now)
		}
	}
}

// sharedWith tells whether two paths, or something below the second, are names of
// one file.
func sharedWith(snap map[string]string, p, path string) bool {
	_, file, _ := strings.Cut(snap[p], " = ")
	for other, line := range snap {
		_, its, _ := strings.Cut(line, " = ")
		if (other == path || strings.HasPrefix(other, path+"/")) && its == file {
			return true
		}
	}
	return false
}

// TestPlanted: a link in B that leads out of it is replaced, never followed.
func TestPlanted(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	for _, name := range []string{"a/d/sub/file", "outside/sub/file", "b/keep"} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range []string{outside, "../outside"} {
		link := filepath.Join(dir, "b", "d")
		if err := os.RemoveAll(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, outside)
		run(t, filepath.Join(dir, "a"), filepath.Join(dir, "b"))
		run(t, "apply", filepath.Join(dir, "a"), filepath.Join(dir, "b"))
		if left := differing(before, snapshot(t, outside)); len(left) > 0 {
			t.Fatalf("outside was changed: %s", left)
		}
		if left := differing(snapshot(t, filepath.Join(dir, "a")), snapshot(t, filepath.Join(dir, "b"))); len(left) > 0 {
			t.Fatalf("%s", fmt.Sprint(left))
		}
	}
}
