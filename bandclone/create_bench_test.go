package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkCreate runs the real binary as "bundlectl quiesce" does. early gets
// its record before the gate closes and the end of its input after; at-once
// gets both when the gate is closed. gate-ms is the time that writers wait.
// One band in fifty changes between two checkpoints.
//
//	go test -run '^$' -bench Create
//
// BENCH_DIR chooses the filesystem.
func BenchmarkCreate(b *testing.B) {
	for _, n := range []int{180, 650, 1420, 3300} {
		for _, early := range []bool{true, false} {
			name := map[bool]string{true: "early", false: "at-once"}[early]
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) { benchCreate(b, n, early) })
		}
	}
}

func benchCreate(b *testing.B, n int, early bool) {
	s := benchStore(b, n)
	var gate []time.Duration
	for v := 1; b.Loop(); v++ {
		s.change(b, v, n/50)
		cmd := exec.Command("bandclone", "create")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // it has started, as it has while the gate is closing
		if early {
			s.tell(in, v)
			waitIdle(cmd.Process.Pid)
		}
		start := time.Now()
		if !early {
			s.tell(in, v)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		gate = append(gate, time.Since(start))
	}
	slices.Sort(gate)
	b.ReportMetric(float64(gate[len(gate)/2].Microseconds())/1000, "gate-ms(median)")
	b.ReportMetric(float64(gate[0].Microseconds())/1000, "gate-ms(best)")
	b.ReportMetric(0, "ns/op")
}

// waitIdle waits until the process has done what it can do before the gate.
func waitIdle(pid int) {
	for last := int64(-1); ; time.Sleep(10 * time.Millisecond) {
		var sum int64
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, t := range threads {
			var ran int64
			stat, _ := os.ReadFile(t)
			_, _ = fmt.Sscan(string(stat), &ran)
			sum += ran
		}
		if sum == last {
			return
		}
		last = sum
	}
}

type bench struct{ root string }

func benchStore(b *testing.B, n int) bench {
	root, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "bandclone-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(root) })
	s := bench{root}
	if err := os.MkdirAll(s.bands(), 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		s.write(b, i, "x")
	}
	return s
}

func (s bench) bundle() string { return filepath.Join(s.root, "b.sparsebundle") }
func (s bench) bands() string  { return filepath.Join(s.bundle(), "bands") }

// write writes a band as the band server does: aside, then renamed into place.
func (s bench) write(b *testing.B, i int, text string) {
	name := filepath.Join(s.bands(), fmt.Sprintf("%x", i))
	if err := os.WriteFile(name+".n", []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(name+".n", name); err != nil {
		b.Fatal(err)
	}
}

func (s bench) change(b *testing.B, v, n int) {
	for i := range n {
		s.write(b, i*7, fmt.Sprint(v))
	}
}

func (s bench) tell(in io.Writer, v int) {
	fmt.Fprintf(in, `{"store":{"bundle_path":%q},"checkpoint":{"version":%d,"parent":%d,"dir":"%s/checkpoints/v%d"}}`+"\n",
		s.bundle(), v, v-1, s.root, v)
}
