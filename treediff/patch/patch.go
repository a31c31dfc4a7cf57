// Package patch writes differences between files in git's format, which git
// apply and GNU patch read. It touches no filesystem: the caller brings both
// sides of every file.
package patch

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"fmt"
	"io"
	"strings"
)

// The type bits of st_mode, the same number on every system that we build for.
const (
	typeMask    = 0o170000
	typeFIFO    = 0o010000
	typeChar    = 0o020000
	typeDir     = 0o040000
	typeBlock   = 0o060000
	typeFile    = 0o100000
	typeSymlink = 0o120000
	typeSocket  = 0o140000
)

// Side is one side of a difference.
type Side struct {
	Mode    uint32 // full st_mode with the type bits; 0: not there
	Content []byte // a file's bytes, a symlink's target
}

// File is one file on both sides.
type File struct {
	From, Path string // relative, with slashes; equal but for renames
	Old, New   Side
}

// gitMode is one of the three modes that git knows, or 0 for what its format
// has no word for: nothing there, or a directory, which comes and goes with its
// files.
func (s Side) gitMode() uint32 {
	switch {
	case s.Mode&typeMask == typeSymlink:
		return typeSymlink
	case s.Mode&typeMask != typeFile:
		return 0
	case s.Mode&0o100 != 0:
		return typeFile | 0o755
	}
	return typeFile | 0o644
}

// blank is the object id of a side that is not there.
var blank = strings.Repeat("0", 2*sha1.Size)

// id is the name that git gives to the content: SHA-1 in hex.
func (s Side) id() string {
	if s.gitMode() == 0 {
		return blank
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(s.Content))
	h.Write(s.Content)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Write writes the difference of one file as git does, or nothing where Skipped
// gives a reason or git sees no difference. A file that became a symlink, or the
// reverse, is a deletion and a creation. Errors are those of w.
func Write(w io.Writer, f File) error {
	if Skipped(f) != "" {
		return nil
	}
	b := bufio.NewWriter(w)
	before, after := f.Old.gitMode(), f.New.gitMode()
	if before != 0 && after != 0 && before&typeMask != after&typeMask {
		writeOne(b, File{From: f.From, Path: f.From, Old: f.Old})
		writeOne(b, File{From: f.Path, Path: f.Path, New: f.New})
	} else {
		writeOne(b, f)
	}
	return b.Flush() // a bufio.Writer keeps the first error
}

func writeOne(w *bufio.Writer, f File) {
	before, after := f.Old.gitMode(), f.New.gitMode()
	switch {
	case before == 0:
		f.From, f.Old = f.Path, Side{}
	case after == 0:
		f.Path, f.New = f.From, Side{}
	}
	same := bytes.Equal(f.Old.Content, f.New.Content)
	if same && before == after && f.From == f.Path {
		return
	}
	var d *lineDiff
	binary := isBinary(f.Old.Content) || isBinary(f.New.Content)
	if !same && !binary {
		d = diffLines(f.Old.Content, f.New.Content)
	}
	writeTitle(w, f, d != nil)
	writeModes(w, before, after)
	if f.From != f.Path {
		fmt.Fprintf(w, "similarity index %d%%\nrename from %s\nrename to %s\n",
			similarity(f, d), Quote(f.From), Quote(f.Path))
	}
	if same && before != 0 && after != 0 {
		return
	}
	writeIndex(w, f)
	switch {
	case same: // an empty file comes or goes
	case binary:
		writeBinary(w, f.Old.Content, f.New.Content)
	default:
		writeText(w, f, d)
	}
}

// writeTitle quotes names with spaces, which git reads but does not do itself,
// where GNU patch needs it: if no lines of --- and +++ follow, it knows the names
// from here only, and it would cut off a space at the end.
func writeTitle(w *bufio.Writer, f File, labelled bool) {
	from, to := Quote("a/"+f.From), Quote("b/"+f.Path)
	if !labelled || strings.HasSuffix(from, " ") || strings.HasSuffix(to, " ") {
		from, to = quoteSpaces(from), quoteSpaces(to)
	}
	fmt.Fprintf(w, "diff --git %s %s\n", from, to)
}

// quoteSpaces puts a name from Quote between quotes, if it has none and a space.
func quoteSpaces(name string) string {
	if name[0] != '"' && strings.Contains(name, " ") {
		return `"` + name + `"`
	}
	return name
}

func writeModes(w *bufio.Writer, before, after uint32) {
	switch {
	case before == after:
	case before == 0:
		fmt.Fprintf(w, "new file mode %o\n", after)
	case after == 0:
		fmt.Fprintf(w, "deleted file mode %o\n", before)
	default:
		fmt.Fprintf(w, "old mode %o\nnew mode %o\n", before, after)
	}
}

// writeIndex gives the ids in full: git apply takes a binary patch only with
// them, and can fall back on a three-way merge.
func writeIndex(w *bufio.Writer, f File) {
	fmt.Fprintf(w, "index %s..%s", f.Old.id(), f.New.id())
	if mode := f.Old.gitMode(); mode == f.New.gitMode() {
		fmt.Fprintf(w, " %o", mode)
	}
	w.WriteByte('\n')
}

func writeText(w *bufio.Writer, f File, d *lineDiff) {
	from, to := "/dev/null", "/dev/null"
	if f.Old.gitMode() != 0 {
		from = label("a/" + f.From)
	}
	if f.New.gitMode() != 0 {
		to = label("b/" + f.Path)
	}
	fmt.Fprintf(w, "--- %s\n+++ %s\n", from, to)
	d.writeHunks(w)
}

// label is a name on a line of --- or +++. A reader takes what follows white
// space for a time; the tab says where a name with a space ends.
func label(name string) string {
	if strings.HasSuffix(name, " ") {
		return quoteSpaces(Quote(name)) // GNU patch would cut the space off
	}
	if strings.Contains(name, " ") {
		return Quote(name) + "\t"
	}
	return Quote(name)
}

// similarity is how much of the larger side is on both, in per cent; 100 only
// for equal sides. d is nil where the sides are equal or binary.
func similarity(f File, d *lineDiff) int {
	before, after := f.Old.Content, f.New.Content
	if bytes.Equal(before, after) {
		return 100
	}
	var shared int
	if d != nil {
		shared = d.shared()
	} else {
		shared = commonPrefix(before, after)
		shared += commonSuffix(before[shared:], after[shared:])
	}
	return min(99, int(int64(shared)*100/int64(max(len(before), len(after)))))
}
