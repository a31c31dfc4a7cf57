package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestRandomKill kills commands with -9 at random moments, three in a row. The
// live bands are always all old or all new; one ending and one create later
// nothing is left over. The scenarios kill at each named step; this finds the
// steps that have no name.
func TestRandomKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills for seconds")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := newStore(t, t.TempDir())
	for i := range 200 {
		s.write(t, fmt.Sprintf("%x", i+16), 0, "saved")
	}
	s.create(t, 1)
	saved := s.content(t, "checkpoints/v1")
	for round := range 40 {
		s.write(t, "20", 0, fmt.Sprint(round))
		old := s.content(t, "b.sparsebundle/bands")
		whole := func() {
			if have := s.content(t, "b.sparsebundle/bands"); !maps.Equal(have, old) && !maps.Equal(have, saved) {
				t.Fatalf("round %d: the live bands are neither the old nor the new", round)
			}
		}
		for range 3 {
			s.killed(t, rnd)
			whole()
		}
		s.run(t, 0, "restore", [2]string{"--finish", "--undo"}[rnd.IntN(2)], "--bundle", s.bundle)
		whole()
		s.sweptClean(t)
	}
}

// killed runs a command and kills it within 20 ms.
func (s store) killed(t *testing.T, rnd *rand.Rand) {
	verbs := [][]string{
		{"restore", "--from", s.saved(1)}, {"restore", "--finish"}, {"restore", "--undo"}, {"create", "--to", s.saved(2)},
	}
	cmd := exec.Command("bandclone", append(verbs[rnd.IntN(len(verbs))], "--bundle", s.bundle)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(rnd.IntN(20_000)) * time.Microsecond)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// sweptClean wants nothing left over after the next create and rm.
func (s store) sweptClean(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(s.saved(2)); err == nil {
		if n := len(s.content(t, "checkpoints/v2")); n != len(s.content(t, "checkpoints/v1")) {
			t.Fatalf("v2 has %d bands", n)
		}
		s.run(t, 0, "rm", s.saved(2))
	}
	s.create(t, 3)
	s.run(t, 0, "rm", s.saved(3))
	for pattern, want := range map[string]int{"b.sparsebundle/*": 1, "checkpoints/*": 2, "checkpoints/.*": 0} {
		if left, _ := filepath.Glob(filepath.Join(s.root, pattern)); len(left) != want {
			t.Fatalf("%s: %v", pattern, left)
		}
	}
}

// content reads a directory of bands, of which the large ones never change here.
func (s store) content(t *testing.T, below string) map[string]string {
	t.Helper()
	at := filepath.Join(s.root, below)
	list, err := os.ReadDir(at)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range list {
		buf := make([]byte, 32)
		f, err := os.Open(filepath.Join(at, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		n, _ := f.Read(buf)
		f.Close()
		all[e.Name()] = string(buf[:n])
	}
	return all
}
