package patch

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs a program in dir, which is in no repository and has nobody's settings.
func run(t testing.TB, dir string, stdin []byte, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(string(stdin))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is run for what has to succeed.
func must(t testing.TB, dir string, stdin []byte, args ...string) string {
	t.Helper()
	out, err := run(t, dir, stdin, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%.4000s", strings.Join(args, " "), err, out)
	}
	return out
}

// needs skips a test that the machine lacks a program for.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}

// gitDiff is what git itself says of the changes.
func gitDiff(t testing.TB, c *changes, options ...string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, dir, nil, "git", "init", "-q", "--bare", "git")
	git := func(args ...string) string {
		return must(t, dir, nil, append([]string{"git", "--git-dir=git"}, args...)...)
	}
	stored := func(name string, tr tree) string {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		tr.make(t, filepath.Join(dir, name))
		git("--work-tree="+name, "add", "-A", ".")
		return strings.TrimSpace(git("write-tree"))
	}
	before, after := stored("old", c.before), stored("new", c.after)
	return git(append(append([]string{"diff", "-M30"}, options...), before, after)...)
}

// tree is files by their path.
type tree map[string]Side

func (tr tree) make(t testing.TB, dir string) {
	t.Helper()
	for path, side := range tr {
		full := filepath.Join(dir, path)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		if err == nil && side.link() {
			err = os.Symlink(string(side.Content), full)
		} else if err == nil {
			err = os.WriteFile(full, side.Content, os.FileMode(side.Mode&0o777))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func readTree(t testing.TB, dir string) tree {
	t.Helper()
	found := tree{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		side, err := readSide(path)
		name, _ := filepath.Rel(dir, path)
		found[name] = side
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func readSide(path string) (Side, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return Side{}, err
	}
	if st.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return link(target), err
	}
	content, err := os.ReadFile(path)
	return Side{Mode: typeFile | uint32(st.Mode().Perm()), Content: content}, err
}

// check compares what git knows of both trees.
func (tr tree) check(t testing.TB, got tree) {
	t.Helper()
	for path, want := range tr {
		side, ok := got[path]
		if !ok {
			t.Errorf("%q is not there", path)
		} else if side.gitMode() != want.gitMode() || string(side.Content) != string(want.Content) {
			t.Errorf("%q: got %o %.300q, want %o %.300q", path, side.gitMode(), side.Content, want.gitMode(), want.Content)
		}
	}
	for path := range got {
		if _, ok := tr[path]; !ok {
			t.Errorf("%q is there", path)
		}
	}
}

// changes is many files, and both trees that they are in.
type changes struct {
	files         []File
	before, after tree
}

func (c *changes) add(f File) {
	if c.before == nil {
		c.before, c.after = tree{}, tree{}
	}
	if f.Old.Mode != 0 {
		c.before[f.From] = f.Old
	}
	if f.New.Mode != 0 {
		c.after[f.Path] = f.New
	}
	c.files = append(c.files, f)
}

func (c *changes) patch(t testing.TB) []byte {
	t.Helper()
	var b strings.Builder
	for _, f := range c.files {
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return []byte(b.String())
}

var oddNames = []string{
	"plain", "with space", " ends ", "tab\there", "quote\"d", "back\\slash", "new\nline", "r\rn", "\x01\x7f",
	"not utf8 \xff\xfe", "grün", "a/b/c d/e", "-dash", "b/a/x", "a b/x", "x => y", "{a}", "/dev/nul"[1:], "'", "$HOME",
	"index.html\t2020-01-01", "a b b/a b", "dev/null", "@@ -1 +1 @@", "... ", "no newline\\",
}

// storable is the odd names that this system's files can have.
func storable(t *testing.T) []string {
	var names []string
	for _, name := range oddNames {
		full := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(full, nil, 0o644); err != nil {
			t.Logf("left out: %v", err)
			continue
		}
		names = append(names, name)
	}
	return names
}

// named is each of the pairs under each of the names.
func named(names []string, pairs [][2]Side) *changes {
	c := &changes{}
	for n, name := range names {
		for k, pair := range pairs {
			path := fmt.Sprintf("%d.%d/%s", n, k, name)
			c.add(File{path, path, pair[0], pair[1]})
			if pair[0].Mode&typeMask == pair[1].Mode&typeMask {
				c.add(File{"from " + path, "to " + path, pair[0], pair[1]})
			}
		}
	}
	return c
}

var oddPairs = [][2]Side{
	{file("a\nb\nc\n"), file("a\nB\nc\n")},
	{file(""), file("a")},
	{file("a\n"), file("")},
	{{}, file("")},
	{program(""), {}},
	{{}, program("a\nb")},
	{file("a"), {}},
	{file("a"), program("a")},
	{program("a\r\nb\r\n"), file("a\r\nb\n")},
	{file("a\rb"), file("a\rb\r")},
	{link("a"), link("/b c\n../d")},
	{link("a\n"), link("a")},
	{{}, link("grün")},
	{link("a"), {}},
	{file("gr\xfc\n"), file("gr\xfc\xff\n\n")},
	{file("\n"), file("\n\n")},
	{file("-- a\n"), file("++ b\n@@ -1 +1 @@\n")},
	{file("diff --git a/x b/x\n"), file("\\ No newline at end of file\n")},
	{file("trailing  \t\n"), file("trailing \n\n\n \n")},
	{file(strings.Repeat("x", 200_000) + "\nb\n"), file(strings.Repeat("x", 200_001) + "\nb")},
	{file(strings.Repeat("x\n", 8000) + "\x00\n"), file(strings.Repeat("x\n", 7999) + "\x00\x00")},
}

// typePairs are deletions and creations. patch -R would create first.
var typePairs = [][2]Side{
	{link("a"), program("a\n")},
	{file("a"), link("a")},
}

var binaryPairs = [][2]Side{
	{file("\x00"), file("\x00\x01")},
	{{}, program("\x00")},
	{program("\x00"), {}},
	{file(""), file("\x00")},
	{file("text\n"), file("\x00")},
	{program("\x00"), file("text")},
	{link("a"), file("\x00")},
	{file(noise(1, 100_000)), file(noise(2, 70_001))},
	{file(noise(3, 52)), file(noise(4, 53))},
	{file(noise(5, 26)), program(noise(6, 27))},
}

func noise(seed int64, size int) string {
	b := make([]byte, size)
	rand.New(rand.NewSource(seed)).Read(b)
	b[0] = 0
	return string(b)
}

// texts is a pair of random texts: the second one is the first one, edited.
func texts(r *rand.Rand) (string, string) {
	words := 1 + r.Intn(1+r.Intn(200))
	line := func() string { return strings.Repeat(" ", r.Intn(3)) + fmt.Sprint(r.Intn(words)) }
	before := make([]string, r.Intn(200))
	for i := range before {
		before[i] = line()
	}
	after := append([]string{}, before...)
	for range r.Intn(12) {
		at := r.Intn(len(after) + 1)
		end := min(len(after), at+r.Intn(1+r.Intn(20)))
		var put []string
		for range r.Intn(1 + r.Intn(10)) {
			put = append(put, line())
		}
		after = append(after[:at:at], append(put, after[end:]...)...)
	}
	ends := []string{"", "\n", "\n", "\n"}
	return strings.Join(before, "\n") + ends[r.Intn(4)], strings.Join(after, "\n") + ends[r.Intn(4)]
}

// random is many edited texts, some of them renamed or with another mode.
func random(seed int64, files int) *changes {
	r := rand.New(rand.NewSource(seed))
	c := &changes{}
	for n := range files {
		before, after := texts(r)
		f := File{fmt.Sprint(n), fmt.Sprint(n), file(before), file(after)}
		if r.Intn(8) == 0 {
			f.Path = fmt.Sprintf("moved/%d", n)
		}
		if r.Intn(8) == 0 {
			f.New.Mode = 0o100755
		}
		c.add(f)
	}
	return c
}
