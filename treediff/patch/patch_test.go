package patch

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func file(content string) Side    { return Side{Mode: 0o100644, Content: []byte(content)} }
func program(content string) Side { return Side{Mode: 0o100755, Content: []byte(content)} }
func link(target string) Side     { return Side{Mode: 0o120777, Content: []byte(target)} }

// lines are the words, each on a line.
func lines(words string) string {
	return strings.ReplaceAll(strings.TrimSpace(words), " ", "\n") + "\n"
}

func written(t *testing.T, f File) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// writeTests have the text that git prints, but for quotes around names with
// spaces: TestLikeGit.
var writeTests = []struct {
	name string
	file File
	want string
}{
	{"text", File{"x", "x", file("a\nb\nc\n"), file("a\nB\nc\n")}, `diff --git a/x b/x
index de980441c3ab03a8c07dda1ad27b8a11f39deb1e..7be73ce3c1b1cdaea86e8168dfee8575175953bf 100644
--- a/x
+++ b/x
@@ -1,3 +1,3 @@
 a
-b
+B
 c
`},
	{"two hunks", File{"x", "x",
		file(lines("1 2 3 4 5 6 7 8 9 10 11 12 13")),
		file(lines("1 2 X 3 4 5 6 7 8 9 10 12 13"))}, `diff --git a/x b/x
index 8e435da93deb7bff843097ef72c7532c09311cf5..37b58e38a56417546d9e3ec8b3f8cf95c841d100 100644
--- a/x
+++ b/x
@@ -1,5 +1,6 @@
 1
 2
+X
 3
 4
 5
@@ -8,6 +9,5 @@
 8
 9
 10
-11
 12
 13
`},
	{"no newline", File{"x", "x", file("a\nb"), file("a\nb\n")}, `diff --git a/x b/x
index 0a207c060e61f3b88eaee0a8cd0696f46fb155eb..422c2b7ab3b3c668038da977e4e93a5fc623169c 100644
--- a/x
+++ b/x
@@ -1,2 +1,2 @@
 a
-b
\ No newline at end of file
+b
`},
	{"new", File{"x", "x", Side{}, file("a\n")}, `diff --git a/x b/x
new file mode 100644
index 0000000000000000000000000000000000000000..78981922613b2afb6025042ff6bd878ac1994e85
--- /dev/null
+++ b/x
@@ -0,0 +1 @@
+a
`},
	{"deleted", File{"x", "x", program("a\n"), Side{}}, `diff --git a/x b/x
deleted file mode 100755
index 78981922613b2afb6025042ff6bd878ac1994e85..0000000000000000000000000000000000000000
--- a/x
+++ /dev/null
@@ -1 +0,0 @@
-a
`},
	{"new and empty", File{"x", "x", Side{}, file("")}, `diff --git a/x b/x
new file mode 100644
index 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391
`},
	{"emptied", File{"x", "x", file("a\n"), file("")}, `diff --git a/x b/x
index 78981922613b2afb6025042ff6bd878ac1994e85..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 100644
--- a/x
+++ b/x
@@ -1 +0,0 @@
-a
`},
	{"mode", File{"x", "x", file("a\n"), program("a\n")}, `diff --git a/x b/x
old mode 100644
new mode 100755
`},
	{"mode and text", File{"x", "x", file("a\n"), program("b\n")}, `diff --git a/x b/x
old mode 100644
new mode 100755
index 78981922613b2afb6025042ff6bd878ac1994e85..61780798228d17af2d34fce4cfbdf35556832472
--- a/x
+++ b/x
@@ -1 +1 @@
-a
+b
`},
	{"renamed", File{"a b", "c\td", file("a\n"), file("a\n")}, `diff --git "a/a b" "b/c\td"
similarity index 100%
rename from a b
rename to "c\td"
`},
	{"renamed and changed", File{"x", "y", file("aaaa\nbbbb\ncccc\ndddd\n"), program("aaaa\nbbbb\ncccc\nDDDD\n")},
		`diff --git a/x b/y
old mode 100644
new mode 100755
similarity index 75%
rename from x
rename to y
index 9e03d3d3b05b395a130cd4729e29b2233eccf8f3..44d99528c29238d60d43974e797f9d9b0135ad1c
--- a/x
+++ b/y
@@ -1,4 +1,4 @@
 aaaa
 bbbb
 cccc
-dddd
+DDDD
`},
	{"space", File{"x y", "x y", file("a\n"), file("b\n")}, `diff --git a/x y b/x y
index 78981922613b2afb6025042ff6bd878ac1994e85..61780798228d17af2d34fce4cfbdf35556832472 100644
--- a/x y` + "\t" + `
+++ b/x y` + "\t" + `
@@ -1 +1 @@
-a
+b
`},
	{"symlink", File{"x", "x", link("a"), link("b")}, `diff --git a/x b/x
index 2e65efe2a145dda7ee51d1741299f848e5bf752e..63d8dbd40c23542e740659a7168a0ce3138ea748 120000
--- a/x
+++ b/x
@@ -1 +1 @@
-a
\ No newline at end of file
+b
\ No newline at end of file
`},
	{"another type", File{"x", "x", file("a\n"), link("a")}, `diff --git a/x b/x
deleted file mode 100644
index 78981922613b2afb6025042ff6bd878ac1994e85..0000000000000000000000000000000000000000
--- a/x
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git a/x b/x
new file mode 120000
index 0000000000000000000000000000000000000000..2e65efe2a145dda7ee51d1741299f848e5bf752e
--- /dev/null
+++ b/x
@@ -0,0 +1 @@
+a
\ No newline at end of file
`},
	{"directory to file", File{"x", "x", Side{Mode: 0o040755}, file("")}, `diff --git a/x b/x
new file mode 100644
index 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391
`},
	{"nothing", File{"x", "x", file("a\n"), file("a\n")}, ""},
	{"fifo", File{"x", "x", Side{}, Side{Mode: 0o010644}}, ""},
}

func TestWrite(t *testing.T) {
	for _, test := range writeTests {
		t.Run(test.name, func(t *testing.T) {
			if got := written(t, test.file); got != test.want {
				t.Errorf("got:\n%swant:\n%s", got, test.want)
			}
		})
	}
}

// TestLikeGit holds the expected texts to git.
func TestLikeGit(t *testing.T) {
	needs(t, "git")
	quoted := strings.NewReplacer(`"a/a b"`, "a/a b")
	for _, test := range writeTests {
		if Skipped(test.file) != "" || test.file.Old.Mode&typeMask == typeDir {
			continue // git has no such side
		}
		t.Run(test.name, func(t *testing.T) {
			c := &changes{}
			c.add(test.file)
			if got, want := gitDiff(t, c, "--binary", "--full-index"), quoted.Replace(test.want); got != want {
				t.Errorf("git prints:\n%sthe test expects:\n%s", got, want)
			}
		})
	}
}

type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	for _, content := range []string{"a\n", "\x00" + strings.Repeat("a", 1<<20)} {
		if err := Write(fullDisk{}, File{"x", "x", Side{}, file(content)}); !errors.Is(err, errFull) {
			t.Errorf("got %v, want %v", err, errFull)
		}
	}
	s := Stat{}
	s.Add("x", "x", 1, 1, false, 1, 1)
	if err := s.Write(fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("stat: got %v, want %v", err, errFull)
	}
}

func TestSkipped(t *testing.T) {
	some := file("a\n")
	for _, test := range []struct {
		file File
		want string
	}{
		{File{"x", "x", some, file("b\n")}, ""},
		{File{"x", "x", some, Side{Mode: 0o010644}}, "a fifo"},
		{File{"x", "x", Side{Mode: 0o140644}, Side{}}, "a socket"},
		{File{"x", "x", Side{Mode: 0o020644}, Side{}}, "a device"},
		{File{"x", "x", Side{}, Side{Mode: 0o060644}}, "a device"},
		{File{"x", "x", Side{}, Side{Mode: 0o160000}}, "a file of type 0160000"},
		{File{"x", "x", Side{}, Side{Mode: 0o040755}}, "a directory"},
		{File{"x", "x", Side{Mode: 0o040700}, Side{Mode: 0o040755}}, "a directory"},
		{File{"x", "x", Side{Mode: 0o040700}, some}, ""},
		{File{"x", "x", some, Side{Mode: 0o100664, Content: some.Content}}, "permissions other than the owner's execute bit"},
		{File{"x", "y", some, Side{Mode: 0o100664, Content: some.Content}}, ""},
		{File{".git/index", ".git/index", Side{}, some}, "inside .git"},
		{File{"a/.GIT/x", "b", some, some}, "inside .git"},
		{File{"a/.gitmodules", "a/.gitmodules", Side{}, link("a")}, "a symlink named .gitmodules"},
		{File{"a/.gitmodules", "a/.gitmodules", Side{}, some}, ""},
	} {
		if got := Skipped(test.file); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.file, got, test.want)
		}
		if test.want != "" && written(t, test.file) != "" {
			t.Errorf("%+v: skipped, and written", test.file)
		}
	}
}

func TestCount(t *testing.T) {
	for _, test := range []struct {
		before, after  string
		added, deleted int
		binary         bool
	}{
		{"", "", 0, 0, false},
		{"a\n", "a\n", 0, 0, false},
		{"", "a\nb", 2, 0, false},
		{"a\nb\n", "", 0, 2, false},
		{"a\nb", "a\nb\n", 1, 1, false},
		{"a\r\n", "a\n", 1, 1, false},
		{"a\x00", "a", 0, 0, true},
		{strings.Repeat("a", 8000) + "\x00", "", 0, 1, false},
	} {
		hunks, binary := Hunks([]byte(test.before), []byte(test.after))
		added, deleted := Count(hunks)
		if added != test.added || deleted != test.deleted || binary != test.binary {
			t.Errorf("%.20q %.20q: got %d %d %v", test.before, test.after, added, deleted, binary)
		}
	}
}
