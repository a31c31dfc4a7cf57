package patch

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
)

func binaries() *changes {
	c := &changes{}
	for k, pair := range binaryPairs {
		path := fmt.Sprintf("%d/bin file", k)
		c.add(File{path, path, pair[0], pair[1]})
		if pair[0].Mode != 0 && pair[1].Mode != 0 && !pair[0].link() {
			c.add(File{path + "1", path + "2", pair[0], pair[1]})
		}
	}
	return c
}

// swapped is files in the place of directories and the reverse.
func swapped() *changes {
	c := &changes{}
	c.add(File{"d/x", "d/x", file("a\n"), Side{}})
	c.add(File{"d", "d", Side{}, file("a\n")})
	c.add(File{"e", "e", link("a"), Side{}})
	c.add(File{"e/x", "e/x", Side{}, file("a\n")})
	return c
}

// TestGit has git apply take every kind of change there and back.
func TestGit(t *testing.T) {
	needs(t, "git")
	names := storable(t)
	for name, c := range map[string]*changes{
		"odd": named(names, oddPairs), "types": named(names, typePairs),
		"binary": binaries(), "random": random(1, 400), "swapped": swapped(),
	} {
		t.Run(name, func(t *testing.T) {
			dir, patch := t.TempDir(), c.patch(t)
			c.before.make(t, dir)
			must(t, dir, patch, "git", "apply", "--check")
			must(t, dir, patch, "git", "apply", "--whitespace=nowarn")
			c.after.check(t, readTree(t, dir))
			must(t, dir, patch, "git", "apply", "-R", "--check")
			must(t, dir, patch, "git", "apply", "-R", "--whitespace=nowarn")
			c.before.check(t, readTree(t, dir))
		})
	}
}

// TestPatch has GNU patch do so, which knows no binary patches.
func TestPatch(t *testing.T) {
	needs(t, "patch")
	if out, err := run(t, t.TempDir(), nil, "patch", "--version"); err != nil || !strings.HasPrefix(out, "GNU patch") {
		t.Skipf("patch is not GNU patch: %v %.60q", err, out)
	}
	names := storable(t)
	for name, c := range map[string]*changes{
		"odd": named(names, oddPairs), "types": named(names, typePairs), "random": random(2, 400),
	} {
		t.Run(name, func(t *testing.T) {
			dir, patch := t.TempDir(), c.patch(t)
			c.before.make(t, dir)
			must(t, dir, patch, "patch", "-p1", "--fuzz=0")
			c.after.check(t, readTree(t, dir))
			if name == "types" {
				return // patch -R would create the one before it deletes the other
			}
			must(t, dir, patch, "patch", "-p1", "--fuzz=0", "-R")
			c.before.check(t, readTree(t, dir))
		})
	}
}

// TestGitRefuses holds Skipped to git: each path that it gives a reason for is
// refused, and no other.
func TestGitRefuses(t *testing.T) {
	needs(t, "git")
	dir := t.TempDir()
	for _, path := range []string{
		".git", ".GIT", "git~1", "Git~1", ".git.", ".git ", ".git:x", `a\.git`, `.git\x`, `x\git~1\y`, ".git...",
		"git~1 .", ".git/x", "a/.Git/x", "git~2", ".gitx", ".git .x", "a:b", "x.git", ".gitmodules", ".GitModules",
		"gitmod~1", "gitmod~5", "gi7eba~1", "gi7eba~9", "gi7eba~0", "a/.gitmodules", ".gitmodules ", ".gitignore", "gitmod~12",
	} {
		for _, side := range []Side{file("a"), link("a")} {
			f := File{path, path, Side{}, side}
			var text strings.Builder
			unchecked(&text, f)
			out, err := run(t, dir, []byte(text.String()), "git", "apply", "--check")
			if refused, reason := err != nil, Skipped(f); refused != (reason != "") {
				t.Errorf("%q %o: Skipped gives %q, git apply %v %s", path, side.Mode, reason, err, out)
			}
		}
	}
}

// unchecked writes also what Skipped has a reason against.
func unchecked(w io.Writer, f File) {
	b := bufio.NewWriter(w)
	writeOne(b, f)
	b.Flush()
}
