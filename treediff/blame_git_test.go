package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

// TestBlameLikeGit compares with git blame over random histories. They are trees: some
// steps go on from an older one. No line is there twice, so that there is one answer.
func TestBlameLikeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for seed := range uint64(3) {
		if seed == 0 {
			seed = uint64(time.Now().UnixNano())
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, rand.New(rand.NewPCG(seed, 0)))
			for range 40 {
				h.step()
			}
			lines := 0
			for step, state := range h.states {
				if step%5 > 0 && slices.Contains(h.parents[step+1:], step) {
					continue // one of those that follow tells more
				}
				for _, path := range slices.Sorted(maps.Keys(state)) {
					if !state[path].link {
						lines += h.check(step, path)
					}
				}
			}
			if lines < 100 {
				t.Errorf("only %d lines compared", lines)
			}
		})
	}
}

// history is states of a directory, each made from an earlier one.
type history struct {
	t       *testing.T
	rnd     *rand.Rand
	dir     string
	states  []map[string]content
	parents []int // -1: nothing
	commits []string
	changes []map[string]record.Change // against the parent, by path
	made    int                        // lines
}

func newHistory(t *testing.T, rnd *rand.Rand) *history {
	h := &history{t: t, rnd: rnd, dir: t.TempDir()}
	h.git(0, "init", "-q", "--bare", h.dir+"/git")
	if err := os.Mkdir(h.tree(-1), 0o755); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *history) tree(step int) string { return filepath.Join(h.dir, fmt.Sprint("tree", step)) }

// step makes another state, and has it compared and committed.
func (h *history) step() {
	h.t.Helper()
	n := len(h.states)
	parent := n - 1
	if n > 0 && h.rnd.IntN(6) == 0 {
		parent = h.rnd.IntN(n)
	}
	state := map[string]content{}
	if parent >= 0 {
		maps.Copy(state, h.states[parent])
	}
	touched := map[string]bool{}
	for range h.rnd.IntN(6) + 1/(n+1) {
		h.edit(state, touched)
	}
	h.states, h.parents = append(h.states, state), append(h.parents, parent)
	h.write(state, h.tree(n))
	h.compare(n)
	h.commit(n)
}

// compare notes what a step has changed.
func (h *history) compare(n int) {
	h.t.Helper()
	found := map[string]record.Change{}
	for line := range strings.Lines(h.treediff("", "--hunks", h.tree(h.parents[n]), h.tree(n))) {
		var rec struct{ Change record.Change }
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			h.t.Fatal(err)
		}
		found[rec.Change.Path] = rec.Change
	}
	h.changes = append(h.changes, found)
}

func (h *history) treediff(stdin string, args ...string) string {
	h.t.Helper()
	var out, errs bytes.Buffer
	stdio := command.IO{In: strings.NewReader(stdin), Out: &out, Err: &errs}
	if status := command.Run(context.Background(), root(), args, stdio); status != 0 {
		h.t.Fatalf("treediff %q <%s: status %d: %s", args, stdin, status, errs.String())
	}
	return out.String()
}

func (h *history) commit(n int) {
	h.t.Helper()
	h.git(n, "add", "-A", ".")
	args := []string{"commit-tree", "-m", fmt.Sprint(n), h.git(n, "write-tree")}
	if p := h.parents[n]; p >= 0 {
		args = append(args, "-p", h.commits[p])
	}
	h.commits = append(h.commits, h.git(n, args...))
}

func (h *history) git(n int, args ...string) string {
	h.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a"}
	if args[0] != "init" {
		cmd.Env = append(cmd.Env, "GIT_DIR="+h.dir+"/git", fmt.Sprint("GIT_INDEX_FILE=", h.dir, "/index", n), "GIT_WORK_TREE="+h.tree(n))
		cmd.Dir = h.tree(n)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// check compares both blames of a file, and gives how many lines it has.
func (h *history) check(step int, path string) int {
	h.t.Helper()
	var want []string
	for line := range strings.Lines(h.git(step, "blame", "--porcelain", h.commits[step], "--", path)) {
		hash, rest, _ := strings.Cut(line, " ")
		if _, err := fmt.Sscanf(rest, "%d %d", new(int), new(int)); len(hash) == 40 && err == nil {
			want = append(want, fmt.Sprintf("v%d", slices.Index(h.commits, hash)))
		}
	}
	trace := h.trace(step, path)
	got := origins(h.t, h.treediff(trace, "blame", h.tree(step), path))
	if !slices.Equal(got, want) {
		h.t.Errorf("step %d, %s: got %v, git has %v, from:\n%s", step, path, got, want, trace)
	}
	return len(got)
}

// trace is the history of a path from a step back, newest first, by its names.
func (h *history) trace(step int, path string) string {
	var b strings.Builder
	for ; step >= 0; step = h.parents[step] {
		c, ok := h.changes[step][path]
		if !ok {
			continue
		}
		line, err := json.Marshal(map[string]any{"checkpoint": map[string]int{"version": step}, "change": c})
		if err != nil {
			h.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", line)
		if c.Kind == record.ChangeRenamed {
			path = c.From
		}
		if c.Kind == record.ChangeAdded {
			break
		}
	}
	return b.String()
}

// origins reads what blame writes: per line a version, "present" or "unknown". Each line
// must be there once, in order, and ranges as long as they can be.
func origins(t *testing.T, out string) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(out) {
		var rec struct {
			Lines      record.Lines
			Checkpoint *record.Checkpoint
			Unknown    bool
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		from := "present"
		if rec.Unknown {
			from = "unknown"
		} else if rec.Checkpoint != nil {
			from = fmt.Sprintf("v%d", rec.Checkpoint.Version)
		}
		if n := len(list); rec.Lines.First != n+1 || rec.Lines.Last <= n || n > 0 && list[n-1] == from {
			t.Fatalf("%s, after line %d, in:\n%s", line, n, out)
		}
		list = append(list, slices.Repeat([]string{from}, rec.Lines.Last-rec.Lines.First+1)...)
	}
	return list
}
