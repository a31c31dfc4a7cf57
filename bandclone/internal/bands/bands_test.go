package bands

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agentfs.internal/bandclone/internal/dir"
)

func TestNumber(t *testing.T) {
	for name, want := range map[string]uint64{"0": 0, "9": 9, "a": 10, "1f": 31, "ffffffffffffffff": 1<<64 - 1} {
		if got, ok := Number([]byte(name)); !ok || got != want || Name(got) != name {
			t.Errorf("%s: %d %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "00", "0a", "A", "1F", "g", "-1", ".a", "1 ", "10000000000000000"} {
		if got, ok := Number([]byte(name)); ok {
			t.Errorf("%q is no band, got %d", name, got)
		}
	}
}

// read makes a directory of bands with these names and reads it.
func read(t *testing.T, names ...string) *Set {
	t.Helper()
	at := t.TempDir()
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(at, n), []byte(n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := dir.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestRead(t *testing.T) {
	s := read(t, "10", "a", "0", "readme", "ff")
	var nums []uint64
	for _, b := range s.Bands {
		nums = append(nums, b.Num)
		if info, err := s.Dir.Stat(b.Name()); err != nil || info.Ino != b.Ino {
			t.Errorf("%s: inode %d, want %d (%v)", b.Name(), b.Ino, info.Ino, err)
		}
	}
	if !slices.Equal(nums, []uint64{0, 10, 16, 255}) || !slices.Equal(s.Strays, []string{"readme"}) {
		t.Errorf("bands %v, strays %v", nums, s.Strays)
	}
	if again, err := Read(s.Dir); err != nil || !slices.Equal(again.Bands, s.Bands) {
		t.Errorf("read again: %v (%v)", again.Bands, err)
	}
}

func TestPairs(t *testing.T) {
	a, b := read(t, "0", "2", "3"), read(t, "1", "2", "4", "5")
	var got []Pair
	_ = Pairs(a, b, func(p Pair) error { got = append(got, Pair{Num: p.Num, InA: p.InA, InB: p.InB}); return nil })
	want := []Pair{
		{Num: 0, InA: true}, {Num: 1, InB: true}, {Num: 2, InA: true, InB: true},
		{Num: 3, InA: true}, {Num: 4, InB: true}, {Num: 5, InB: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("pairs %+v, want %+v", got, want)
	}
}

func TestDifferReportsErrors(t *testing.T) {
	a, b := read(t, "0", "1"), read(t, "0", "1")
	if err := os.Remove(a.Dir.Path("1")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", a.Dir.Path("1")); err != nil {
		t.Fatal(err)
	}
	for _, quick := range []bool{false, true} {
		if nums, err := Differ(t.Context(), a, b, quick); err == nil {
			t.Errorf("quick %v: %v without an error: a symbolic link was followed", quick, nums)
		}
	}
}
