package blame

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"agentfs.internal/tool/record"
	"agentfs.internal/treediff/patch"
)

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBack(t *testing.T) {
	const u = Unknown
	for _, test := range []struct {
		name  string
		lines int
		steps string
		want  []int
	}{
		{"no history", 2, `[]`, []int{u, u}},
		{"no lines", 0, `[[[0, 3, 0, 0]]]`, []int{}},
		{"replaced", 4, `[[[1, 5, 1, 2]]]`, []int{u, 0, 0, u}},
		{"put in twice", 4, `[[[1, 0, 1, 1]], [[1, 0, 1, 1]]]`, []int{u, 0, 1, u}},
		{"taken out between", 2, `[[[1, 3, 1, 0]], [[0, 1, 0, 2], [3, 1, 4, 1]]]`, []int{1, 1}},
		{"put in and taken out again", 2, `[[[1, 2, 1, 0]], [[1, 0, 1, 2]], [[0, 3, 0, 1]]]`, []int{2, u}},
		{"at both ends", 4, `[[[0, 0, 0, 1], [2, 0, 3, 1]]]`, []int{0, u, u, 0}},
		{"a hunk in two runs", 5, `[[[2, 0, 2, 1]], [[1, 0, 1, 2]]]`, []int{u, 1, 0, 1, u}},
	} {
		b := New(test.lines)
		for i, hunks := range decode[[][]record.Hunk](t, test.steps) {
			if err := b.Back(i, hunks); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		}
		if !slices.Equal(b.From(), test.want) {
			t.Errorf("%s: got %v, want %v", test.name, b.From(), test.want)
		}
	}
}

func TestRest(t *testing.T) {
	b := New(3)
	if err := b.Back(0, decode[[]record.Hunk](t, `[[1,1,1,1]]`)); err != nil || !b.Open() {
		t.Fatal(err, b.Open())
	}
	b.Rest(7)
	if want := []int{7, 0, 7}; !slices.Equal(b.From(), want) || b.Open() {
		t.Errorf("got %v, want %v", b.From(), want)
	}
}

// TestMerged: what was apart for a while is one run again.
func TestMerged(t *testing.T) {
	b := New(10)
	for i := range 100 {
		hunks := []string{`[[5,3,5,0]]`, `[[5,0,5,3]]`}[i%2]
		if err := b.Back(i, decode[[]record.Hunk](t, hunks)); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.open) != 1 {
		t.Errorf("%v", b.open)
	}
}

func TestMisfit(t *testing.T) {
	for _, hunks := range []string{
		`[[0,0,4,1]]`,           // behind the end
		`[[3,1,3,2]]`,           // over it
		`[[1,1,2,1]]`,           // unequal lines before it
		`[[2,1,2,1],[1,1,1,1]]`, // backwards
		`[[0,1,0,2],[2,1,1,1]]`, // overlapping
		`[[0,1,0,4611686018427387904]]`,
		`[[4611686018427387904,1,4611686018427387904,1]]`,
		`[[0,4611686018427387904,0,1]]`,
		`[[0,1073741824,0,0]]`,
	} {
		b := New(4)
		if err := b.Back(0, decode[[]record.Hunk](t, hunks)); err == nil || !strings.Contains(err.Error(), "lines") {
			t.Errorf("%s: %v", hunks, err)
		}
		if b.Rest(1); !slices.Equal(b.From(), []int{1, 1, 1, 1}) {
			t.Errorf("%s: changed %v", hunks, b.From())
		}
	}
}

// TestIdentity follows lines that each can be told from all others.
func TestIdentity(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		made := map[string]int{} // by line, the step
		fresh := func(step int) string {
			line := fmt.Sprintf("line %d\n", len(made))
			made[line] = step
			return line
		}
		var lines []string
		for range rnd.IntN(40) {
			lines = append(lines, fresh(Unknown))
		}
		var history [][]record.Hunk
		for step := range 1 + rnd.IntN(30) {
			was := strings.Join(lines, "")
			for range 1 + rnd.IntN(3) {
				at := rnd.IntN(len(lines) + 1)
				end := min(len(lines), at+rnd.IntN(5))
				var put []string
				for range rnd.IntN(5) {
					put = append(put, fresh(step))
				}
				lines = slices.Replace(lines, at, end, put...)
			}
			hunks, _ := patch.Hunks([]byte(was), []byte(strings.Join(lines, "")))
			history = append(history, hunks)
		}
		b := New(len(lines))
		for step := len(history) - 1; step >= 0; step-- {
			if err := b.Back(step, history[step]); err != nil {
				t.Fatal(err)
			}
		}
		for i, line := range lines {
			if b.From()[i] != made[line] {
				t.Fatalf("%q comes from %d, not %d", line, made[line], b.From()[i])
			}
		}
	}
}

// FuzzBack holds the way back to the way forth, which notes for each line of a file
// who made it while the hunks are applied.
func FuzzBack(f *testing.F) {
	f.Add(uint16(9), []byte{1, 2, 3, 0x80, 2, 0, 4, 0, 3, 1, 0, 0x80})
	f.Add(uint16(3), []byte{1, 2, 3, 0x40, 0, 1, 2, 0x80})
	f.Fuzz(func(t *testing.T, lines uint16, data []byte) {
		b := New(int(lines))
		var history [][]record.Hunk
		for _, hunks := range invented(data) {
			if b.Back(len(history), hunks) == nil {
				history = append(history, hunks)
			}
		}
		from := slices.Repeat([]int{Unknown}, b.lines)
		for i := len(history) - 1; i >= 0; i-- {
			from = forth(from, i, history[i])
		}
		if !slices.Equal(b.From(), from) {
			t.Fatalf("%v: got %v, want %v", history, b.From(), from)
		}
	})
}

// invented makes hunks, most of which are possible: four bytes are one.
func invented(data []byte) [][]record.Hunk {
	var history [][]record.Hunk
	var hunks []record.Hunk
	was, is := 0, 0
	for ; len(data) >= 4; data = data[4:] {
		equal, flags := int(data[0]), data[3]
		h := record.Hunk{OldStart: was + equal, OldLines: int(data[1]), NewStart: is + equal, NewLines: int(data[2])}
		if flags&0x40 != 0 {
			h.NewStart++
		}
		was, is = h.OldStart+h.OldLines, h.NewStart+h.NewLines
		hunks = append(hunks, h)
		if flags&0x80 != 0 {
			history, hunks, was, is = append(history, hunks), nil, 0, 0
		}
	}
	return append(history, hunks)
}

func forth(from []int, change int, hunks []record.Hunk) []int {
	var now []int
	at := 0
	for _, h := range hunks {
		now = append(now, from[at:h.OldStart]...)
		now = append(now, slices.Repeat([]int{change}, h.NewLines)...)
		at = h.OldStart + h.OldLines
	}
	return append(now, from[at:]...)
}
