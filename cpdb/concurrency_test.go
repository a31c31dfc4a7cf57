package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentfs.internal/tool/record"
)

// processes is how many run at once: more than any machine that runs this has
// processors, so that they meet at every step.
const processes = 16

// cpdb runs the real binary and gives its standard output.
func cpdb(t *testing.T, home, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("cpdb", args...)
	cmd.Env = append(os.Environ(), "AGENTFS_HOME="+home)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("cpdb %v: %v: %s", args, err, &errs)
	}
	return out.String()
}

func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// Nobody has made the database yet; all want to be the first.
func TestProcessesMakeTheDatabaseAtOnce(t *testing.T) {
	for range 5 {
		home := t.TempDir() + "/home"
		together(processes, func(i int) { cpdb(t, home, "", "store", "add", fmt.Sprint("s", i)) })
		if list := cpdb(t, home, "", "store", "list"); strings.Count(list, "\n") != processes {
			t.Fatalf("want %d stores, have:\n%s", processes, list)
		}
	}
}

// Versions are unique and without gaps, whoever asks, and each checkpoint gets
// its own clone's figures.
func TestProcessesCheckpointAtOnce(t *testing.T) {
	home := t.TempDir()
	cpdb(t, home, "", "store", "add", "x")
	const each = 4
	together(processes, func(i int) {
		for range each {
			checkpointOnce(t, home, fmt.Sprint("by ", i), int64(i))
		}
	})
	var versions []int64
	for line := range strings.Lines(cpdb(t, home, "", "checkpoint", "list", "--store", "x")) {
		c := checkpointIn(t, line)
		versions = append(versions, c.Version)
		if c.Message != fmt.Sprint("by ", c.Bands) {
			t.Errorf("v%d %q has the bands of %d", c.Version, c.Message, c.Bands)
		}
	}
	want := []int64{}
	for v := int64(processes * each); v > 0; v-- {
		want = append(want, v)
	}
	if !slices.Equal(versions, want) {
		t.Errorf("versions %v", versions)
	}
}

func checkpointOnce(t *testing.T, home, message string, bands int64) {
	rec, err := record.Read(strings.NewReader(cpdb(t, home, "", "checkpoint", "begin", "--store", "x", "--message", message)))
	if err != nil {
		t.Error(err)
		return
	}
	if err := rec.Set("clone", record.Clone{Method: "link", Bands: bands}); err != nil {
		t.Error(err)
	}
	var line bytes.Buffer
	if err := rec.Write(&line); err != nil {
		t.Error(err)
	}
	cpdb(t, home, line.String(), "checkpoint", "commit")
}

func checkpointIn(t *testing.T, line string) (c record.Checkpoint) {
	t.Helper()
	var rec struct{ Checkpoint *record.Checkpoint }
	rec.Checkpoint = &c
	if err := json.Unmarshal([]byte(line), &rec); err != nil {
		t.Fatal(err)
	}
	return c
}

// Killed at any moment, not only at the named steps, the file stays whole and
// no version is given out twice.
func TestKilledAnywhere(t *testing.T) {
	home := t.TempDir()
	cpdb(t, home, "", "store", "add", "x")
	seen := map[int64]bool{}
	for i := range 60 {
		cmd := exec.Command("cpdb", "checkpoint", "begin", "--store", "x")
		cmd.Env = append(os.Environ(), "AGENTFS_HOME="+home)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Millisecond + time.Duration(i)*50*time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, or done before
		c := checkpointIn(t, cpdb(t, home, "", "checkpoint", "begin", "--store", "x"))
		if seen[c.Version] {
			t.Fatalf("v%d was given out twice", c.Version)
		}
		seen[c.Version] = true
	}
	cmd := exec.Command("cpdb", "check")
	cmd.Env = append(os.Environ(), "AGENTFS_HOME="+home)
	out, _ := cmd.Output() // it finds the leftovers
	if bytes.Contains(out, []byte(`"corrupt"`)) {
		t.Errorf("%s", out)
	}
}
