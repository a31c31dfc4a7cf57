package patch

import (
	"fmt"
	"strings"
)

// Skipped gives the reason why git's format cannot say the difference, or "".
// The reasons are phrases: "a fifo", "inside .git".
func Skipped(f File) string {
	if reason := skippedSides(f.Old, f.New); reason != "" {
		return reason
	}
	for _, path := range []string{f.From, f.Path} {
		if insideGit(path) {
			return "inside .git"
		}
	}
	if f.Old.link() && isGitmodules(f.From) || f.New.link() && isGitmodules(f.Path) {
		return "a symlink named .gitmodules"
	}
	if f.From == f.Path && f.Old.Mode != f.New.Mode && f.Old.gitMode() == f.New.gitMode() &&
		string(f.Old.Content) == string(f.New.Content) {
		return "permissions other than the owner's execute bit"
	}
	return ""
}

// skippedSides looks at the types. A directory in the place of a file is left
// out of the patch, but the file is not: git makes and removes directories as
// their files need it.
func skippedSides(before, after Side) string {
	for _, side := range []Side{before, after} {
		switch side.Mode & typeMask {
		case typeFIFO:
			return "a fifo"
		case typeChar, typeBlock:
			return "a device"
		case typeSocket:
			return "a socket"
		case typeDir, typeFile, typeSymlink:
		default:
			if side.Mode != 0 {
				return fmt.Sprintf("a file of type %#o", side.Mode&typeMask)
			}
		}
	}
	if before.gitMode() == 0 && after.gitMode() == 0 && before.Mode|after.Mode != 0 {
		return "a directory"
	}
	return ""
}

func (s Side) link() bool { return s.gitMode() == typeSymlink }

// insideGit tells of the paths that git apply refuses on every system: also
// those that Windows would read as .git, as long as core.protectNTFS is on, its
// default.
func insideGit(path string) bool {
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		switch plainName(name) {
		case ".git", "git~1":
			return true
		}
	}
	return false
}

// isGitmodules tells of the names that git refuses for symlinks.
func isGitmodules(path string) bool {
	name := plainName(path[strings.LastIndexByte(path, '/')+1:])
	short, digit, _ := strings.Cut(name, "~")
	switch {
	case name == ".gitmodules":
		return true
	case len(digit) != 1 || digit < "1" || digit > "9":
		return false
	}
	return short == "gi7eba" || short == "gitmod" && digit <= "4"
}

// plainName is the name that Windows would open: without a stream, dots and
// spaces at the end do not count, nor does case.
func plainName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return strings.ToLower(strings.TrimRight(name, " ."))
}

// escapes are the bytes with a letter of their own in a quoted name.
var escapes = map[byte]string{
	'\a': `\a`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\v': `\v`, '\f': `\f`, '\r': `\r`,
	'"': `\"`, '\\': `\\`,
}

// Quote gives the path as git prints it by default: as it is, or between double
// quotes with C's escapes if there is a control character, a quote, a backslash
// or a byte that is not ASCII in it.
func Quote(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		c := path[i]
		switch letter, ok := escapes[c]; {
		case ok:
			b.WriteString(letter)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() == len(path)+1 {
		return path
	}
	return b.String() + `"`
}
