package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	gitLog   = "git log of the same history"
	gitBlame = "git blame of the same history"
)

// looking measures questions about what agents have done: of a long history without
// bands, and of a file.
func (b *bench) looking(ctx context.Context) error {
	return firstOf(b.scoped(ctx, b.asking), b.scoped(ctx, b.blaming))
}

// pathsEach is how many paths each checkpoint of the long history changes.
const pathsEach = 20

// asking asks of a history that cpdb was told, and git of the same one.
func (b *bench) asking(ctx context.Context) error {
	if !b.wanted("timeline", "log", "search") {
		return nil
	}
	b.say("making a history of %d checkpoints", b.size.history)
	s := &store{name: "long", home: filepath.Join(b.dir, "long-home"), mount: filepath.Join(b.dir, "long")}
	if err := firstOf(s.tellHistory(b.size.history).run(ctx), s.gitHistory(ctx, b.size.history)); err != nil {
		return err
	}
	git := func(args ...string) program {
		return program{dir: s.mount, args: append([]string{"git", "--no-pager", "log"}, args...)}
	}
	for _, q := range []struct {
		key, title string
		ours       program
		git        program
	}{
		{"timeline", "Timeline of the last hour", s.do("timeline", "--since", "1h"), git("--since=3 years ago", "--format=%h %ar %an %s", "--numstat", "-50")},
		{"log", "Log of one path", s.agentfs("/", "--store", s.name, "log", "--limit", "50", "--", "dir7/file14.go"), git("-50", "--format=%h %ar %an %s", "--name-only", "--", "dir7/file14.go")},
		{"search", "Search of a word", s.do("search", "needle"), git("-50", "--grep=needle", "--format=%h %ar %an %s")},
	} {
		title := fmt.Sprintf("%s, %d checkpoints, %d changed paths", q.title, b.size.history, b.size.history*pathsEach)
		err := b.race(ctx, subject{key: q.key, title: title, unit: inSeconds, bases: []string{ours},
			candidates: []candidate{answering(ours, q.ours, filepath.Join(b.dir, "answer")), answering(gitLog, q.git, filepath.Join(b.dir, "answer"))}})
		if err != nil {
			return err
		}
	}
	return nil
}

// answering is a candidate that is held to it that it writes something.
func answering(name string, p program, out string) candidate {
	p.out = out
	run := timedRun(p)
	return candidate{name: name, measure: func(ctx context.Context, n int) (float64, error) {
		v, err := run(ctx, n)
		if st, lost := os.Stat(out); err == nil && (lost != nil || st.Size() == 0) {
			err = fmt.Errorf("no answer")
		}
		return v, err
	}}
}

// tellHistory tells cpdb of checkpoints that nobody made, each with its changes.
func (s *store) tellHistory(n int) program {
	p := sh("/", fmt.Sprintf(`cpdb store add %[1]s --mount "$MOUNT" --size 1000000 --status ready >"$OUT"
i=0
while [ $i -lt %[2]d ]; do
	i=$((i + 1))
	message=auto; [ $((i %% 1000)) != 500 ] || message="the needle $i"
	cpdb checkpoint begin --store %[1]s --message "$message" --agent claude-code --action Edit --session s$((i / 100)) --prompt "make number $i" >"$OUT"
	cpdb checkpoint commit --store %[1]s --version v$i --method link >"$OUT"
	j=0
	while [ $j -lt %[3]d ]; do
		j=$((j + 1))
		echo '{"change":{"path":"dir'$((i * 7 %% 300))'/file'$(((i + j * 13) %% 60))'.go","kind":"modified","type":"file","what":["content"],"lines_added":3,"lines_deleted":1,"hunks":[[3,1,3,3]]}}'
	done | cpdb change add --store %[1]s v$i >"$OUT"
done`, s.name, n, pathsEach))
	p.env = []string{"AGENTFS_HOME=" + s.home, "MOUNT=" + s.mount, "OUT=" + s.mount + "-out"}
	return p
}

// gitHistory makes a repository with as many commits, of as many files each.
func (s *store) gitHistory(ctx context.Context, n int) error {
	var stream bytes.Buffer
	for i := range n {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter bench <bench@localhost> %d +0000\n", 1_770_000_000+i)
		message := "auto"
		if i%1000 == 500 {
			message = "the needle " + strconv.Itoa(i)
		}
		fmt.Fprintf(&stream, "data %d\n%s\n", len(message), message)
		for j := range pathsEach {
			text := fmt.Sprintf("%d\n%d\n%d\n", i, j, i*j)
			fmt.Fprintf(&stream, "M 100644 inline dir%d/file%d.go\ndata %d\n%s\n", i*7%300, (i+j*13)%60, len(text), text)
		}
	}
	file := s.mount + "-stream"
	if err := firstOf(os.MkdirAll(s.mount, 0o700), os.WriteFile(file, stream.Bytes(), 0o600)); err != nil {
		return err
	}
	return sh(s.mount, "git init -q -b main; git fast-import --quiet <"+file).run(ctx)
}

// Of the file whose lines are asked for: how long it is, and in how many of how many
// checkpoints it was changed.
const (
	blameLines   = 1000
	blameChanges = 50
	blameSaves   = 500
)

// blaming asks of each line of a file where it comes from.
func (b *bench) blaming(ctx context.Context) error {
	if !b.wanted("blame") {
		return nil
	}
	saves := min(blameSaves, b.size.history/20)
	s, err := b.newStore(ctx, "blamed", b.dir)
	if err != nil {
		return err
	}
	b.say("making %d checkpoints of a file and others", saves)
	if err := s.fileHistory(ctx, saves); err != nil {
		return err
	}
	title := fmt.Sprintf("Blame of a file of %d lines, changed in %d of %d checkpoints", blameLines, min(blameChanges, saves), saves)
	out := filepath.Join(b.dir, "answer")
	return b.race(ctx, subject{key: "blame", title: title, unit: inSeconds, bases: []string{ours},
		candidates: []candidate{
			answering(ours, s.do("blame", "file.go"), out),
			answering(gitBlame, program{dir: s.mount, args: []string{"git", "--no-pager", "blame", "file.go"}}, out),
		}})
}

// fileHistory changes a file in some of the checkpoints and another one in the others,
// each a commit too.
func (s *store) fileHistory(ctx context.Context, saves int) error {
	lines := make([]string, blameLines)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d as it began", i)
	}
	file := filepath.Join(s.mount, "file.go")
	if err := firstOf(sh(s.mount, "git init -q -b main").run(ctx), write(file, lined(lines))); err != nil {
		return err
	}
	every := max(1, saves/blameChanges)
	for n := range saves {
		if n%every == every-1 {
			for k := range 15 {
				lines[(n*37+k*61)%blameLines] = fmt.Sprintf("line %d of save %d", k, n)
			}
			if err := write(file, lined(lines)); err != nil {
				return err
			}
		}
		if err := write(filepath.Join(s.mount, "other"), []byte(strconv.Itoa(n))); err != nil {
			return err
		}
		if err := firstOf(sh(s.mount, commit).run(ctx), s.do("checkpoint", "create", "save "+strconv.Itoa(n)).run(ctx)); err != nil {
			return err
		}
	}
	return s.do("checkpoint", "index").run(ctx)
}

func lined(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }
