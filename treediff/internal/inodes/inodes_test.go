package inodes

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	s, err := Parse(strings.NewReader("2\n5-7\n9\n"))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []bool{false, false, true, false, false, true, true, true, false, true, false} {
		if s.Has(uint64(n)) != want {
			t.Errorf("Has(%d) = %v", n, !want)
		}
	}
	if s, err := Parse(strings.NewReader("")); err != nil || s == nil || s.Has(0) {
		t.Errorf("an empty list: %v, %v", s, err)
	}
	if s, err := Parse(strings.NewReader("all\n")); err != nil || s != nil {
		t.Errorf("all: %v, %v", s, err)
	}
	for _, bad := range []string{"x\n", "5-\n", "7-5\n", "5\n5\n", "5-9\n8\n", "all\n5\n", "-\n", "\n"} {
		if _, err := Parse(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// FuzzParse: what is taken holds at least the numbers that it names.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "all\n", "1\n", "1-5\n7\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(strings.NewReader(text))
		if err != nil || s == nil {
			return
		}
		for _, r := range s.ranges {
			if !s.Has(r.first) || !s.Has(r.last) {
				t.Errorf("%q: lacks %v", text, r)
			}
		}
	})
}
