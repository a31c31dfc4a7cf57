package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// The stages of these tests are binaries of their own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"emit": func() { fmt.Printf(`{"n":%s}`+"\n", os.Args[1]) },
		"pass": pass,
		"warn": func() { fmt.Fprintln(os.Stderr, "warn: mind the gap"); pass() },
		"mute": func() { _, _ = io.Copy(io.Discard, os.Stdin) },
		"fail": fail,
		"shut": func() { os.Stdin.Close(); time.Sleep(50 * time.Millisecond); exit("5") },
		"die":  func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} },
		"count": func() {
			list, err := record.ReadAll(os.Stdin)
			fmt.Printf(`{"n":%d,"ok":%t}`+"\n", len(list), err == nil)
		},
		"flow": func() { // writes more than a pipe holds, so that it notices a reader that is gone
			fmt.Printf(`{"n":"%s"}`, strings.Repeat("x", 1<<20))
		},
		"stay": func() {
			c := make(chan os.Signal, 1)
			signal.Notify(c, os.Interrupt)
			<-c
			exit("1")
		},
		"lead": func() { fmt.Printf(`{"leader":%t}`+"\n", syscall.Getpgrp() == os.Getpid()) },
		"held": func() { fmt.Printf(`{"fd":%q,"open":%t}`+"\n", os.Getenv("AGENTFS_LOCK_FD"), isOpen(3)) },
	})
}

func pass() {
	rec, err := record.Read(os.Stdin)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pass: %v\n", err)
		os.Exit(1)
	}
	_ = rec.Set("passed", true)
	_ = rec.Write(os.Stdout)
}

func fail() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Fprintf(os.Stderr, "fail: %s\nhint: try again\n", os.Args[2])
	exit(os.Args[1])
}

func exit(code string) {
	var n int
	fmt.Sscan(code, &n)
	os.Exit(n)
}

func isOpen(fd int) bool {
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) == nil
}

func tool(args ...string) pipeline.Stage { return pipeline.Tool(args...) }

func runner(t *testing.T) (*pipeline.Runner, *bytes.Buffer) {
	var said bytes.Buffer
	return &pipeline.Runner{Find: func(s string) string { return s }, Err: &said}, &said
}

func TestRecordFlowsThrough(t *testing.T) {
	r, _ := runner(t)
	rec, err := r.Run(t.Context(), nil, tool("emit", "4"), tool("pass"), tool("pass"))
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := rec.Get("n", &n); err != nil || n != 4 || !rec.Has("passed") {
		t.Errorf("n = %d, %v; passed = %t", n, err, rec.Has("passed"))
	}
}

func TestRecordIsFedToTheFirst(t *testing.T) {
	in := record.New()
	if err := in.Set("store", map[string]string{"name": "a b"}); err != nil {
		t.Fatal(err)
	}
	r, _ := runner(t)
	rec, err := r.Run(t.Context(), in, tool("pass"))
	if err != nil || !rec.Has("store") || !rec.Has("passed") {
		t.Fatalf("%v, %v", rec, err)
	}
}

func TestListIsFedToTheFirst(t *testing.T) {
	for n := range 3 {
		var out, trace bytes.Buffer
		r, _ := runner(t)
		r.Trace = &trace
		list := make([]*record.Record, n)
		for i := range list {
			list[i] = record.New()
		}
		if err := r.Feed(t.Context(), list, &out, tool("count")); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"n":%d,"ok":true}`+"\n", n); out.String() != want {
			t.Errorf("%s, want %s", out.String(), want)
		}
		if args := strings.Count(trace.String(), "{}"); args != n {
			t.Errorf("%d records in the trace, want %d: %s", args, n, trace.String())
		}
	}
}

// A stage that is asked about starts when the others have; if it is not to, the others
// get no record, and why is the error.
func TestAskedBeforeItStarts(t *testing.T) {
	r, _ := runner(t)
	first := tool("emit", "1")
	first.When = func() error { return nil }
	if rec, err := r.Run(t.Context(), nil, first, tool("pass")); err != nil || !rec.Has("passed") {
		t.Errorf("asked, and to be started: %v %v", rec, err)
	}
	no := errors.New("no")
	first.When = func() error { return no }
	first.Done = func() error { return errors.New("a stage has done its work that was not to be started") }
	if _, err := r.Run(t.Context(), nil, first, tool("pass"), tool("pass")); !errors.Is(err, no) {
		t.Errorf("asked, and not to be started: %v", err)
	}
}

func TestList(t *testing.T) {
	r, _ := runner(t)
	for want, stages := range map[int]pipeline.Stage{0: tool("mute"), 1: tool("emit", "1")} {
		list, err := r.List(t.Context(), nil, stages)
		if err != nil || len(list) != want {
			t.Errorf("%v: %d records, %v", stages.Args, len(list), err)
		}
	}
}

// The followers of a failed stage miss their record and say so; only the words
// of the first count.
func TestBlame(t *testing.T) {
	tests := []struct {
		name   string
		stages []pipeline.Stage
		tool   string
		code   int
		words  string
	}{
		{"first", []pipeline.Stage{tool("fail", "3", "no such store"), tool("pass"), tool("pass")}, "fail", 3, "fail: no such store\nhint: try again\n"},
		{"middle", []pipeline.Stage{tool("emit", "1"), tool("fail", "5", "busy"), tool("pass")}, "fail", 5, "fail: busy\nhint: try again\n"},
		{"last", []pipeline.Stage{tool("emit", "1"), tool("pass"), tool("fail", "4", "gone")}, "fail", 4, "fail: gone\nhint: try again\n"},
		{"two", []pipeline.Stage{tool("emit", "1"), tool("fail", "5", "one"), tool("fail", "3", "two")}, "fail", 5, "fail: one\nhint: try again\n"},
		{"killed", []pipeline.Stage{tool("emit", "1"), tool("die"), tool("pass")}, "die", 1, "die: signal: killed\n"},
		{"broken pipe", []pipeline.Stage{tool("flow"), tool("shut"), tool("pass")}, "shut", 5, "shut: exit status 5\n"},
		{"foreign status", []pipeline.Stage{tool("fail", "77", "odd")}, "fail", 1, "fail: odd\nhint: try again\n"},
		{"no record", []pipeline.Stage{tool("emit", "1"), tool("mute")}, "mute", 1, "mute: ended without a record\n"},
		{"no record in the middle", []pipeline.Stage{tool("emit", "1"), tool("mute"), tool("pass")}, "pass", 1, "pass: no record on standard input: EOF\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, said := runner(t)
			_, err := r.Run(t.Context(), nil, test.stages...)
			var f *pipeline.Failure
			if !errors.As(err, &f) {
				t.Fatalf("%v is no failure of a stage", err)
			}
			if f.Tool != test.tool || f.Code != test.code || f.Words != test.words || status.Of(err) != test.code {
				t.Errorf("have %s, %d, %q", f.Tool, f.Code, f.Words)
			}
			if said.Len() > 0 {
				t.Errorf("said %q", said)
			}
		})
	}
}

func TestWarningsArePassedOn(t *testing.T) {
	r, said := runner(t)
	if _, err := r.Run(t.Context(), nil, tool("emit", "1"), tool("warn")); err != nil {
		t.Fatal(err)
	}
	if said.String() != "warn: mind the gap\n" {
		t.Errorf("said %q", said)
	}
}

// A tool that is missing must not be noticed when the first has done its work.
func TestMissingToolStartsNothing(t *testing.T) {
	r, _ := runner(t)
	began := false
	_, err := r.Run(t.Context(), nil, tool("emit", "1").Then(func() error { began = true; return nil }), tool("no-such-tool"))
	if status.Of(err) != status.CannotRun || began {
		t.Errorf("%v, began %t", err, began)
	}
}

func TestDoneInOrder(t *testing.T) {
	r, _ := runner(t)
	var order []string
	note := func(s string) func() error {
		return func() error { order = append(order, s); return nil }
	}
	_ = r.Exec(t.Context(), nil, tool("emit", "1").Then(note("a")), tool("pass").Then(note("b")), tool("fail", "1", "x").Then(note("c")))
	if got := strings.Join(order, ""); got != "ab" {
		t.Errorf("done %q, want ab", got)
	}
}

// A stage that dies of a broken pipe had done its work before it wrote about it.
func TestDoneDespiteBrokenPipe(t *testing.T) {
	r, _ := runner(t)
	done := false
	err := r.Exec(t.Context(), nil, tool("flow").Then(func() error { done = true; return nil }), tool("shut"))
	if status.Of(err) != 5 || !done {
		t.Errorf("%v, done %t", err, done)
	}
}

// What cannot be cancelled is out of reach of the terminal's interrupt too, which
// goes to all of a process group.
func TestSteadyStagesLeaveTheGroup(t *testing.T) {
	r, _ := runner(t)
	for ctx, want := range map[context.Context]bool{t.Context(): false, context.WithoutCancel(t.Context()): true} {
		rec, err := r.Run(ctx, nil, tool("lead"))
		if err != nil {
			t.Fatal(err)
		}
		var leader bool
		if err := rec.Get("leader", &leader); err != nil || leader != want {
			t.Errorf("leader of a group %t, want %t (%v)", leader, want, err)
		}
	}
}

func TestInterruptReachesStages(t *testing.T) {
	r, _ := runner(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	if _, err := r.Run(ctx, nil, tool("stay")); !errors.Is(err, pipeline.ErrInterrupted) {
		t.Errorf("error %v", err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
	if _, err := r.Run(ctx, nil, tool("emit", "1")); !errors.Is(err, pipeline.ErrInterrupted) {
		t.Errorf("after the interrupt: %v", err)
	}
}

func TestLockIsInherited(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	r, _ := runner(t)
	r.Lock = dir
	rec, err := r.Run(t.Context(), nil, tool("held"))
	if err != nil {
		t.Fatal(err)
	}
	var fd string
	var open bool
	if rec.Get("fd", &fd) != nil || rec.Get("open", &open) != nil || fd != "3" || !open {
		t.Errorf("AGENTFS_LOCK_FD=%s, open %t", fd, open)
	}
}

func TestTrace(t *testing.T) {
	in := record.New()
	if err := in.Set("m", "it's"); err != nil {
		t.Fatal(err)
	}
	var trace bytes.Buffer
	r, _ := runner(t)
	r.Trace = &trace
	if _, err := r.Run(t.Context(), in, tool("pass"), tool("warn", "a b", "")); err != nil {
		t.Fatal(err)
	}
	var commands []string
	for line := range strings.Lines(trace.String()) {
		commands = append(commands, line[len("trace: 12345678 ms  "):])
	}
	want := `printf '%s\n' '{"m":"it'\''s"}' |` + "\npass |\nwarn 'a b' ''\n"
	if got := strings.Join(commands, ""); got != want {
		t.Errorf("have\n%swant\n%s", got, want)
	}
}

func TestWordsAreBounded(t *testing.T) {
	r, _ := runner(t)
	_, err := r.Run(t.Context(), nil, tool("fail", "1", strings.Repeat("x", 100<<10)))
	if n := len(err.Error()); n > 64<<10 {
		t.Errorf("%d bytes kept", n)
	}
}
