package patch

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// TestStat compares with git's own table over repositories of random changes.
func TestStat(t *testing.T) {
	needs(t, "git")
	for seed := range int64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := statChanges(rand.New(rand.NewSource(seed)))
			want := gitDiff(t, c, "--stat=80")
			var got strings.Builder
			s := statOf(c)
			if err := s.Write(&got); err != nil {
				t.Fatal(err)
			}
			if got.String() != want {
				t.Errorf("got:\n%swant:\n%s", got.String(), want)
			}
		})
	}
}

// statChanges makes changes that any line diff counts alike.
func statChanges(r *rand.Rand) *changes {
	c := &changes{}
	most := 1 + r.Intn(1+r.Intn(300))
	for n := range 1 + r.Intn(8) {
		path := fmt.Sprintf("%c%s", 'a'+n, strings.Repeat("/directory", r.Intn(1+r.Intn(10))))
		rest := strings.Repeat(fmt.Sprintf("rest %d\n", n), 4*most)
		before := file(rest + strings.Repeat("old\n", r.Intn(most)))
		after := file(rest + strings.Repeat("new\n", r.Intn(most)))
		from := path
		switch r.Intn(6) {
		case 0:
			from = path[:1] + "/elsewhere" + path[1:]
		case 1:
			path += "/grün"
			before = Side{}
		case 2:
			before, after = file(noise(1, r.Intn(9999)+1)), file(noise(2, r.Intn(99)+1))
		case 3:
			after = program(string(before.Content))
		}
		if from != path && before.Mode == 0 {
			from = path
		}
		c.add(File{from, path, before, after})
	}
	return c
}

func statOf(c *changes) *Stat {
	s := &Stat{}
	for _, f := range c.files {
		if string(f.Old.Content) == string(f.New.Content) && f.Old.gitMode() == f.New.gitMode() && f.From == f.Path {
			continue
		}
		hunks, binary := Hunks(f.Old.Content, f.New.Content)
		added, deleted := Count(hunks)
		s.Add(f.Path, f.From, added, deleted, binary, int64(len(f.Old.Content)), int64(len(f.New.Content)))
	}
	return s
}

func TestStatText(t *testing.T) {
	s := &Stat{}
	var b strings.Builder
	if err := s.Write(&b); err != nil || b.Len() > 0 {
		t.Errorf("nothing: got %q, %v", b.String(), err)
	}
	s.Add("path", "", 10, 2, false, 0, 0)
	s.Add("x/b", "x/a", 0, 0, false, 5, 5)
	s.Add("image", "image", 0, 0, true, 10, 20)
	s.Add("t\tb", "t b", 0, 1, false, 5, 0)
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := ` path          |  12 ++++++++++--
 x/{a => b}    |   0
 image         | Bin 10 -> 20 bytes
 t b => "t\tb" |   1 -
 4 files changed, 10 insertions(+), 3 deletions(-)
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestTotals(t *testing.T) {
	for want, n := range map[string][3]int{
		" 1 file changed, 1 insertion(+)\n":                    {1, 1, 0},
		" 2 files changed, 1 deletion(-)\n":                    {2, 0, 1},
		" 1 file changed, 0 insertions(+), 0 deletions(-)\n":   {1, 0, 0},
		" 3 files changed, 10 insertions(+), 2 deletions(-)\n": {3, 10, 2},
	} {
		if got := totals(n[0], n[1], n[2]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRenamed(t *testing.T) {
	for _, test := range [][3]string{
		{"a", "b", "a => b"},
		{"d/a", "d/b", "d/{a => b}"},
		{"a/x", "b/x", "{a => b}/x"},
		{"d/a/x", "d/x", "d/{a => }/x"},
		{"d/x", "d/a/x", "d/{ => a}/x"},
		{"x", "d/x", "x => d/x"},
		{"d/a", "d/\n", `d/a => "d/\n"`},
	} {
		if got := renamed(test[0], test[1]); got != test[2] {
			t.Errorf("%q %q: got %q, want %q", test[0], test[1], got, test[2])
		}
	}
}
