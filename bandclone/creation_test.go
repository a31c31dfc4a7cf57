package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// gated starts a create that has its record and waits for the gate.
type gated struct {
	in   *io.PipeWriter
	out  bytes.Buffer
	talk bytes.Buffer
	code chan int
}

func startGated(ctx context.Context, s store, v int) *gated {
	r, w := io.Pipe()
	g := &gated{in: w, code: make(chan int, 1)}
	go func() {
		g.code <- command.Run(ctx, root(), []string{"create"}, command.IO{In: r, Out: &g.out, Err: &g.talk})
	}()
	fmt.Fprintf(w, `{"store":{"bundle_path":%q},"checkpoint":{"dir":%q}}`+"\n", s.bundle, s.saved(v))
	return g
}

// staged waits until so many bands are in the temporary directory of v.
func (s store) staged(t *testing.T, v, bands int) {
	t.Helper()
	for range 500 {
		found, err := filepath.Glob(fmt.Sprintf("%s/checkpoints/.v%d.tmp-*/*", s.root, v))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == bands {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("v%d: not %d bands linked ahead", v, bands)
}

// TestGate changes the bands after they have been linked ahead and before the
// gate closes: the checkpoint holds them as they are at the gate.
func TestGate(t *testing.T) {
	s := newStore(t, t.TempDir())
	s.create(t, 1)
	g := startGated(t.Context(), s, 2)
	s.staged(t, 2, 3)
	s.write(t, "0", 0, "new")
	s.write(t, "9", 0, "also")
	if err := os.Remove(s.bundle + "/bands/2"); err != nil {
		t.Fatal(err)
	}
	g.in.Close()
	if code := <-g.code; code != 0 {
		t.Fatalf("status %d: %s", code, &g.talk)
	}
	var c record.Clone
	rec, err := record.Read(&g.out)
	if err == nil {
		err = rec.Get("clone", &c)
	}
	if err != nil || c.Bands != 3 || c.ChangedBands != 3 || c.Bytes != 3+4+1<<18 {
		t.Errorf("clone %+v (%v), want 3 bands, 3 changed, %d bytes", c, err, 3+4+1<<18)
	}
	s.equal(t, s.saved(2), s.bundle, true)
	if left, _ := filepath.Glob(s.root + "/checkpoints/.*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestGateInterrupted interrupts a create that waits for the gate.
func TestGateInterrupted(t *testing.T) {
	s := newStore(t, t.TempDir())
	s.create(t, 1)
	ctx, stop := context.WithCancel(t.Context())
	g := startGated(ctx, s, 2)
	s.staged(t, 2, 3)
	stop()
	if code := <-g.code; code != status.General || g.out.Len() > 0 {
		t.Errorf("status %d, output %q", code, &g.out)
	}
	if left, _ := filepath.Glob(s.root + "/checkpoints/.*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestLivingMaker runs a create to its end while another one is at work: what
// the other has not published yet is no leftover.
func TestLivingMaker(t *testing.T) {
	s := newStore(t, t.TempDir())
	s.create(t, 1)
	g := startGated(t.Context(), s, 2)
	s.staged(t, 2, 3)
	s.create(t, 3)
	s.run(t, 0, "rm", s.saved(3))
	s.staged(t, 2, 3)
	g.in.Close()
	if code := <-g.code; code != 0 {
		t.Fatalf("status %d: %s", code, &g.talk)
	}
	s.equal(t, s.saved(2), s.bundle, true)
}

// TestManyAtOnce makes eight checkpoints at the same time.
func TestManyAtOnce(t *testing.T) {
	s := newStore(t, t.TempDir())
	var group sync.WaitGroup
	for v := 1; v <= 8; v++ {
		group.Go(func() { s.create(t, v) })
	}
	group.Wait()
	if target, err := os.Readlink(s.root + "/checkpoints/latest"); err != nil || target != "v8" {
		t.Errorf("latest: %q (%v), want v8", target, err)
	}
	for v := 1; v <= 8; v++ {
		s.equal(t, s.saved(v), s.bundle, true)
	}
	if left, _ := filepath.Glob(s.root + "/checkpoints/.*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSameAtOnce lets eight makers of one checkpoint race: one wins, the others
// change nothing.
func TestSameAtOnce(t *testing.T) {
	s := newStore(t, t.TempDir())
	args := []string{"create", "--bundle", s.bundle, "--to", s.saved(1)}
	codes := make([]int, 8)
	var group sync.WaitGroup
	for i := range codes {
		group.Go(func() {
			codes[i] = command.Run(t.Context(), root(), args, command.IO{Out: io.Discard, Err: io.Discard})
		})
	}
	group.Wait()
	won := 0
	for _, code := range codes {
		if code == status.OK {
			won++
		} else if code != status.General {
			t.Errorf("status %d", code)
		}
	}
	if won != 1 {
		t.Errorf("%d of 8 made v1", won)
	}
	s.equal(t, s.saved(1), s.bundle, true)
}

// TestManyLinks has a band that can take no more links: the checkpoint gets a
// copy, the live band stays, and a forced link says why it cannot.
func TestManyLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 65,000 links")
	}
	s := newStore(t, t.TempDir())
	links := filepath.Join(s.root, "links")
	if err := os.Mkdir(links, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		err := os.Link(s.bundle+"/bands/0", fmt.Sprintf("%s/%d", links, i))
		if errors.Is(err, syscall.EMLINK) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if i == 70_000 {
			t.Skip("this filesystem takes more than 70,000 links")
		}
	}
	c := s.create(t, 1)
	if c.Method != "link" || c.Bands != 3 {
		t.Errorf("clone %+v, want 3 bands, most of them links", c)
	}
	if c := s.create(t, 2); c.Method != "link" {
		t.Errorf("clone %+v, want most of them links, two of them made ahead", c)
	}
	s.equal(t, s.saved(1), s.bundle, true)
	s.equal(t, s.saved(2), s.bundle, true)
	s.run(t, status.CannotRun, "create", "--bundle", s.bundle, "--to", s.saved(3), "--method", "link")
}
