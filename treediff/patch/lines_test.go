package patch

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"
)

// hard gives pairs of texts that line diffs are slow at, of n lines each.
var hard = map[string]func(n int) (string, string){
	"all equal lines, moved ends": func(n int) (string, string) {
		return "a\n" + strings.Repeat("x\n", n) + "b\n", "b\n" + strings.Repeat("x\n", n-n/3) + "a\n"
	},
	"every other line new": func(n int) (string, string) {
		return numbers(n, func(i int) string { return fmt.Sprint(i / 2) }),
			numbers(n, func(i int) string { return []string{fmt.Sprint(i / 2), fmt.Sprint("n", i)}[i%2] })
	},
	"every other line changed": func(n int) (string, string) {
		return numbers(n, func(i int) string { return fmt.Sprint("o", i/2*2+(i%2)*i) }),
			numbers(n, func(i int) string { return fmt.Sprint("on"[i%2:i%2+1], i/2*2+(i%2)*i) })
	},
	"reversed": func(n int) (string, string) {
		return numbers(n, func(i int) string { return fmt.Sprint(i) }),
			numbers(n, func(i int) string { return fmt.Sprint(n - i) })
	},
	"shuffled": func(n int) (string, string) {
		order := rand.New(rand.NewSource(1)).Perm(n)
		return numbers(n, func(i int) string { return fmt.Sprint(i) }),
			numbers(n, func(i int) string { return fmt.Sprint(order[i]) })
	},
	"few kinds of lines": func(n int) (string, string) {
		r := rand.New(rand.NewSource(1))
		kind := func(int) string { return fmt.Sprint(r.Intn(10)) }
		return numbers(n, kind), numbers(n, kind)
	},
	"two of each": func(n int) (string, string) {
		return numbers(n, func(i int) string { return fmt.Sprint(i % (n / 2)) }),
			numbers(n, func(i int) string { return fmt.Sprint((n - i) % (n / 2)) })
	},
	"braces between": func(n int) (string, string) {
		return numbers(n, func(i int) string { return []string{"}", fmt.Sprint(i / 2)}[i%2] }),
			numbers(n, func(i int) string { return []string{"}", fmt.Sprint(i / 4), "}", fmt.Sprint("n", i)}[i%4] })
	},
	"few kinds, edited": func(n int) (string, string) {
		r := rand.New(rand.NewSource(1))
		before := numbers(n, func(i int) string { return fmt.Sprint(r.Intn(3)) })
		return before, "0\n2\n" + before[:n/2*2] + "1\n" + before[n/2*2+2:] + "0\n"
	},
	"nothing shared": func(n int) (string, string) {
		return numbers(n, func(i int) string { return fmt.Sprint("a", i) }),
			numbers(n, func(i int) string { return fmt.Sprint("b", i) })
	},
}

func numbers(n int, line func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
		b.WriteByte('\n')
	}
	return b.String()
}

// BenchmarkWorst is for the choice of exactSteps.
func BenchmarkWorst(b *testing.B) {
	for name, pair := range hard {
		for _, n := range []int{100, 200, 300, 400, 600, 1000, 1400, 2000, 20_000, 100_000} {
			before, after := pair(n)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					diffLines([]byte(before), []byte(after))
				}
			})
		}
	}
}

// TestHard has a limit of ten times what was measured; without the budget it
// would be minutes. The changes must still be right.
func TestHard(t *testing.T) {
	for name, pair := range hard {
		for _, n := range []int{100, 1000, 20_000} {
			before, after := pair(n)
			start := time.Now()
			f := File{"x", "x", file(before), file(after)}
			text := written(t, f)
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("%s, %d lines: %v", name, n, took)
			}
			if got, err := applied(before, text); err != nil || got != after {
				t.Errorf("%s, %d lines: applied wrongly: %v", name, n, err)
			}
		}
	}
}

// TestQuality holds the cheaper methods to small differences.
func TestQuality(t *testing.T) {
	source := func(i int) string {
		return []string{fmt.Sprintf("func f%d() {", i), fmt.Sprintf("\treturn %d", i%7), "}", ""}[i%4]
	}
	long := strings.Split(numbers(40_000, source), "\n")
	edited := strings.Split(numbers(40_000, source), "\n")
	for i := 10; i < len(edited); i += 4000 {
		edited[i] += "// edited"
	}
	edited = append(edited[:20_001], edited[20_004:]...)
	hunks, _ := Hunks([]byte(strings.Join(long, "\n")), []byte(strings.Join(edited, "\n")))
	added, deleted := Count(hunks)
	if added != 10 || deleted != 13 {
		t.Errorf("got %d added and %d deleted, want 10 and 13", added, deleted)
	}
}

// TestRepeated is a file without a line of its own: two lines edited, one added.
func TestRepeated(t *testing.T) {
	before := strings.Repeat("0\n1\n1\n", 10_000)
	after := "1\n" + before[2:30_000] + "0\n" + before[30_000:len(before)-2] + "0\n"
	hunks, _ := Hunks([]byte(before), []byte(after))
	added, deleted := Count(hunks)
	if added != 3 || deleted != 2 {
		t.Errorf("got %d added and %d deleted, want 3 and 2", added, deleted)
	}
}

// applied applies the hunks of one text's patch strictly.
func applied(before, text string) (string, error) {
	_, text, _ = strings.Cut("\n"+text, "\n@@ ")
	if text == "" {
		return before, nil
	}
	old := splitLines([]byte(before))
	var b strings.Builder
	at := 0
	lines := splitLines([]byte("@@ " + text))
	for k, line := range lines {
		if line[0] == '\\' {
			continue
		}
		rest := line[1:]
		if k+1 < len(lines) && lines[k+1][0] == '\\' {
			rest = strings.TrimSuffix(rest, "\n")
		}
		switch line[0] {
		case '@':
			start, count := 0, 1
			if n, _ := fmt.Sscanf(line, "@@ -%d,%d", &start, &count); n < 1 {
				return "", fmt.Errorf("hunk %q", line)
			}
			if count == 0 {
				start++
			}
			b.WriteString(strings.Join(old[at:start-1], ""))
			at = start - 1
		case ' ', '-':
			if old[at] != rest {
				return "", fmt.Errorf("line %d is %q, not %q", at+1, old[at], rest)
			}
			at++
		}
		if line[0] == ' ' || line[0] == '+' {
			b.WriteString(rest)
		}
	}
	return b.String() + strings.Join(old[at:], ""), nil
}

func FuzzWrite(f *testing.F) {
	for _, pair := range oddPairs {
		f.Add(pair[0].Content, pair[1].Content, 0)
	}
	for seed := range int64(20) {
		before, after := texts(rand.New(rand.NewSource(seed)))
		f.Add([]byte(before), []byte(after), int(seed*seed*100))
	}
	f.Fuzz(func(t *testing.T, before, after []byte, budget int) {
		if isBinary(before) || isBinary(after) {
			return
		}
		text := written(t, File{"x", "x", Side{0o100644, before}, Side{0o100644, after}})
		if got, err := applied(string(before), text); err != nil || got != string(after) {
			t.Fatalf("%q %q: got %q, %v", before, after, got, err)
		}
		checkHunks(t, before, after)
		checkChanges(t, splitLines(before), splitLines(after), min(budget, exactSteps))
	})
}

// checkHunks makes the one text of the other with nothing but its hunks.
func checkHunks(t *testing.T, before, after []byte) {
	t.Helper()
	hunks, _ := Hunks(before, after)
	was, _ := Lines(before)
	now, _ := Lines(after)
	var got []string
	at := 0
	for _, h := range hunks {
		got = append(append(got, was[at:h.OldStart]...), now[h.NewStart:h.NewStart+h.NewLines]...)
		at = h.OldStart + h.OldLines
	}
	got = append(got, was[at:]...)
	if strings.Join(got, "") != string(after) || len(got) != len(now) {
		t.Fatalf("%q %q: %v", before, after, hunks)
	}
}

// checkChanges tries every method: what the budget has no room for goes to the
// anchors.
func checkChanges(t *testing.T, before, after []string, budget int) {
	t.Helper()
	names := map[string]string{}
	c := &comparison{a: shortNames(names, before), b: shortNames(names, after), budget: budget, greedyBudget: greedySteps}
	c.between(change{0, len(before), 0, len(after)}, 0)
	var got []string
	at := change{}
	for _, next := range c.changes {
		if next.i1-at.i2 != next.j1-at.j2 || next.i1 < at.i2 || at != (change{}) && next.i1 == at.i2 {
			t.Fatalf("%q %q: %+v after %+v", before, after, next, at)
		}
		got = append(append(got, before[at.i2:next.i1]...), after[next.j1:next.j2]...)
		at = next
	}
	got = append(got, before[at.i2:]...)
	if strings.Join(got, "") != strings.Join(after, "") {
		t.Fatalf("%q %q: got %q", before, after, got)
	}
}

// FuzzQuote reads names back as C does.
func FuzzQuote(f *testing.F) {
	for _, name := range oddNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		quoted := Quote(name)
		if quoted != name {
			if strings.ContainsFunc(quoted, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("%q: got %q", name, quoted)
			}
			quoted = unquoted(quoted)
		}
		if quoted != name {
			t.Fatalf("%q: got %q back", name, quoted)
		}
	})
}

func unquoted(quoted string) string {
	var b strings.Builder
	for body := quoted[1 : len(quoted)-1]; body != ""; {
		var c byte
		switch {
		case body[0] != '\\':
			c, body = body[0], body[1:]
		case body[1] >= '0' && body[1] <= '7':
			c, body = (body[1]-'0')<<6|(body[2]-'0')<<3|(body[3]-'0'), body[4:]
		default:
			c = map[byte]byte{'a': 7, 'b': 8, 't': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13, '"': '"', '\\': '\\'}[body[1]]
			body = body[2:]
		}
		b.WriteByte(c)
	}
	return b.String()
}
