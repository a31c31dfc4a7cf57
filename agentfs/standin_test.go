package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/scenario"
)

// The scenarios run the real agentfs over stand-ins for the other tools, so that
// each stage can fail in each way, without a mount. What a stand-in does is told
// by the lines of the file answers in its scenario:
//
//	[once] STATUS TOOL ARGS… => [wait:MS] WHAT
//
// The first line whose words begin the command line counts. WHAT is what a
// status other than 0 says on standard error (\n is a new line), else what is
// written to standard output: pass stands for the record on standard input,
// warn for the same and a warning, nothing for no output. With fed: before it what
// comes on standard input goes to the file fed. $WORK is expanded; every call is noted
// in the file calls. That checkpoints are made durable, which is begun in the
// background, is answered with nothing and not noted where no line speaks of it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agentfs":      main,
		"cpdb":         standIn,
		"bundlectl":    standIn,
		"bandclone":    standIn,
		"treediff":     standIn,
		"agentfs-hook": standIn,
	})
}

func TestScenarios(t *testing.T) {
	p := scenario.Params("testdata")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("STANDIN", env.WorkDir)
		env.Setenv("AGENTFS_HOME", filepath.Join(env.WorkDir, "af"))
		env.Setenv("TZ", "UTC")
		env.Setenv("AGENTFS_CHECKPOINTS_AUTO_INDEX", "false") // or calls come when they like
		env.Setenv("AGENTFS_CHECKPOINTS_AUTO_SUM", "false")
		env.Defer(func() { waitForLocks(filepath.Join(env.WorkDir, "af", "stores")) })
		return setup(env)
	}
	testscript.Run(t, p)
}

// waitForLocks waits for what a scenario has left in the background: it would write
// into a directory that is being removed.
func waitForLocks(stores string) {
	found, _ := os.ReadDir(stores)
	for _, st := range found {
		if dir, err := os.Open(filepath.Join(stores, st.Name())); err == nil {
			_ = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)
			_ = dir.Close()
		}
	}
}

func standIn() {
	dir := os.Getenv("STANDIN")
	line := strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " ")
	text, err := os.ReadFile(filepath.Join(dir, "answers"))
	check(err)
	if !bytes.Contains(text, []byte("--volatile")) && syncing(line) {
		return
	}
	check(note(filepath.Join(dir, "calls"), line+"\n"))
	for i, answer := range strings.Split(strings.ReplaceAll(string(text), "$WORK", dir), "\n") {
		head, what, ok := strings.Cut(answer, " =>")
		if !ok {
			continue
		}
		if rest, once := strings.CutPrefix(head, "once "); once {
			head = rest
			if used := filepath.Join(dir, fmt.Sprintf("used.%d.%x", i, crc32.ChecksumIEEE(text))); matches(line, head) {
				if _, err := os.Stat(used); err == nil {
					continue
				}
				check(note(used, ""))
			}
		}
		if matches(line, head) {
			give(head, strings.TrimSpace(what))
		}
	}
	fmt.Fprintf(os.Stderr, "standin: no answer to: %s\n", line)
	os.Exit(99)
}

// syncing tells whether a command line is a stage of makeDurable.
func syncing(line string) bool {
	return matches(line, "- cpdb checkpoint list --volatile") || matches(line, "- bandclone sync") ||
		matches(line, "- cpdb checkpoint set --durable")
}

// matches tells whether the words behind the status in head begin line.
func matches(line, head string) bool {
	_, words, _ := strings.Cut(head, " ")
	return line == words || strings.HasPrefix(line, words+" ")
}

func give(head, what string) {
	status, _, _ := strings.Cut(head, " ")
	code, err := strconv.Atoi(status)
	check(err)
	if rest, ok := strings.CutPrefix(what, "wait:"); ok {
		ms, more, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(ms)
		check(err)
		time.Sleep(time.Duration(n) * time.Millisecond)
		what = more
	}
	if rest, ok := strings.CutPrefix(what, "fed:"); ok {
		input, err := io.ReadAll(os.Stdin)
		check(err)
		check(note(filepath.Join(os.Getenv("STANDIN"), "fed"), string(input)))
		what = strings.TrimSpace(rest)
	}
	if code != 0 {
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, strings.ReplaceAll(what, `\n`, "\n"))
		os.Exit(code)
	}
	switch what {
	case "warn":
		fmt.Fprintln(os.Stderr, "standin: mind the gap")
		fallthrough
	case "pass":
		rec, err := record.Read(os.Stdin)
		check(err)
		check(rec.Write(os.Stdout))
	case "":
	default:
		fmt.Println(strings.ReplaceAll(what, `\n`, "\n"))
	}
	os.Exit(0)
}

func note(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return err
}

func check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}

// The package comment is the manual page: what -h shows must stand in it.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := bytes.Cut(text, []byte("\npackage main"))
	for _, v := range tree().Verbs {
		words := "agentfs " + strings.TrimSpace(v.Name+" "+v.Args)
		for _, sub := range v.Verbs {
			words = "agentfs " + v.Name + " " + strings.TrimSpace(sub.Name+" "+sub.Args)
			if !bytes.Contains(comment, []byte(words)) {
				t.Errorf("the manual lacks %q", words)
			}
		}
		if !bytes.Contains(comment, []byte(words)) {
			t.Errorf("the manual lacks %q", words)
		}
	}
}
