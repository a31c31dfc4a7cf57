package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

// FuzzBlame: whatever the history, there is an error or each line once.
func FuzzBlame(f *testing.F) {
	for _, history := range []string{
		`{"change":{"kind":"modified","hunks":[[3,1,3,2],[9,4,10,0]]}}
		 {"checkpoint":{"version":7},"author":{"agent":"x"},"change":{"kind":"renamed","from":"y"}}
		 {"checkpoint":{"version":3},"change":{"kind":"modified","hunks":[[0,0,0,5]]}}
		 {"checkpoint":{"version":1},"change":{"kind":"added"}}`,
		`{"checkpoint":{"version":1},"change":{"kind":"modified","binary":true}}`,
		`{"checkpoint":7,"change":{"kind":"modified","hunks":[[0,9223372036854775807,0,1]]}}`,
		`{"checkpoint":{},"change":{"kind":"modified","hunks":[[5,1,5,1],[5,1,5,1]]}}`,
		`{"change":{"kind":"deleted"}}{"change":{"kind":"type"}}{}`,
		`{"checkpoint":{"version":1},"change":{"kind":"modified","lines_added":0,"lines_deleted":0}}`,
	} {
		f.Add(history, uint16(20), false)
		f.Add(history, uint16(1), true)
	}
	f.Fuzz(func(t *testing.T, input string, n uint16, each bool) {
		history, err := record.ReadAll(strings.NewReader(input))
		if err != nil {
			return
		}
		from, err := follow(history, int(n))
		if err != nil {
			return
		}
		lines := make([]string, n)
		var out bytes.Buffer
		o := &blameOptions{text: each}
		if err := o.write(&out, history, lines, from); err != nil {
			t.Fatal(err)
		}
		last := 0
		for line := range strings.Lines(out.String()) {
			var rec struct{ Lines record.Lines }
			if err := json.Unmarshal([]byte(line), &rec); err != nil {
				t.Fatal(err)
			}
			if l := rec.Lines; l.First != last+1 || l.Last < l.First || each && l.Last != l.First {
				t.Fatalf("%v after %d", l, last)
			}
			last = rec.Lines.Last
		}
		if last != int(n) {
			t.Fatalf("%d lines of %d", last, n)
		}
	})
}

// BenchmarkBlame reads histories in which each change replaces two lines of a file, puts
// one in and takes one out.
//
//	go test -run '^$' -bench Blame
func BenchmarkBlame(b *testing.B) {
	for _, size := range []struct{ lines, changes int }{{1000, 500}, {1_000_000, 500}} {
		dir := b.TempDir()
		text := strings.Repeat("a line of some text, as there is much\n", size.lines)
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(1, 0))
		var history bytes.Buffer
		for i := range size.changes {
			fmt.Fprintf(&history, `{"checkpoint":{"version":%d,"agent":"claude-code"},"change":{"path":"file","kind":"modified","hunks":[`, size.changes-i)
			at := rnd.IntN(size.lines - 30)
			fmt.Fprintf(&history, "[%d,2,%d,2],[%d,1,%d,0],[%d,0,%d,1]]}}\n", at, at, at+10, at+10, at+21, at+20)
		}
		b.Run(fmt.Sprintf("%d lines, %d changes", size.lines, size.changes), func(b *testing.B) {
			for b.Loop() {
				stdio := command.IO{In: bytes.NewReader(history.Bytes()), Out: &bytes.Buffer{}, Err: os.Stderr}
				if command.Run(context.Background(), root(), []string{"blame", dir, "file"}, stdio) != 0 {
					b.Fatal("blame failed")
				}
			}
		})
	}
}
