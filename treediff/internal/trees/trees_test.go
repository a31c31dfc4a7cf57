package trees

import (
	"path"
	"slices"
	"strings"
	"testing"

	"agentfs.internal/tool/status"
)

// TestComparePaths: component by component.
func TestComparePaths(t *testing.T) {
	sorted := []string{"", "a", "a/b", "a/b/c", "a/bc", "a b", "a!", "a.x", "a0", "b", "b/\x01", "b/a", "b\x01/c", "\xff"}
	for i, x := range sorted {
		for j, y := range sorted {
			want := i - j
			if byParts := slices.Compare(parts(x), parts(y)); byParts*want < 0 || (byParts == 0) != (want == 0) {
				t.Fatalf("the test's order of %q and %q is wrong", x, y)
			}
			if have := ComparePaths(x, y); have*want < 0 || (have == 0) != (want == 0) {
				t.Errorf("%q and %q: %d", x, y, have)
			}
		}
	}
}

func parts(p string) []string {
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

func TestCleanPaths(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "./a/": "a", "a//b": "a/b", "a/b a": "a", "a b/c a/x a.x b/c/d": "a a.x b/c", ".": "", "a .": "",
		"a/../b": "b", "a a": "a", "..a": "..a",
	} {
		have, err := CleanPaths(strings.Fields(in))
		if err != nil || strings.Join(have, " ") != want {
			t.Errorf("%q: %q, %v", in, have, err)
		}
	}
	for _, in := range []string{"", "/", "/a", "..", "../a", "a/../.."} {
		if have, err := CleanPaths([]string{in}); status.Of(err) != status.Usage {
			t.Errorf("%q: %q, %v", in, have, err)
		}
	}
}

// FuzzCleanPaths: what comes out is clean, below the root, and covers what went in.
func FuzzCleanPaths(f *testing.F) {
	f.Add("a/b", "a")
	f.Add("./x//", "..")
	f.Fuzz(func(t *testing.T, x, y string) {
		list, err := CleanPaths([]string{x, y})
		if err != nil || list == nil {
			return
		}
		for _, p := range list {
			if p != path.Clean(p) || path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") {
				t.Errorf("%q", p)
			}
		}
		for _, p := range []string{x, y} {
			if p = path.Clean(p); !slices.ContainsFunc(list, func(q string) bool { return p == q || IsBelow(p, q) }) {
				t.Errorf("%q is not in %q", p, list)
			}
		}
	})
}
