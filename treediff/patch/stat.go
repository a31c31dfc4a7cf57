package patch

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// statWidth is the columns that git gives the table where there is no terminal.
const statWidth = 80

// Stat is the table of git diff --stat. The zero value is ready.
type Stat struct{ rows []statRow }

type statRow struct {
	name             string
	added, deleted   int
	binary           bool
	oldSize, newSize int64
}

func (r statRow) changed() int { return r.added + r.deleted }

// Add adds a file: lines, or of a binary file its sizes in bytes. from is the
// name before a rename; without one it is path or "".
func (s *Stat) Add(path, from string, added, deleted int, binary bool, oldSize, newSize int64) {
	name := Quote(path)
	if cmp.Or(from, path) != path {
		name = renamed(from, path)
	}
	s.rows = append(s.rows, statRow{name, added, deleted, binary, oldSize, newSize})
}

// Write writes a line for each file, in the order of Add, and the totals; nothing
// if there is no file. Errors are those of w.
func (s *Stat) Write(w io.Writer) error {
	if len(s.rows) == 0 {
		return nil
	}
	b := bufio.NewWriter(w)
	l := s.layout()
	added, deleted := 0, 0
	for _, r := range s.rows {
		l.writeRow(b, r)
		if !r.binary {
			added, deleted = added+r.added, deleted+r.deleted
		}
	}
	b.WriteString(totals(len(s.rows), added, deleted))
	return b.Flush()
}

// layout is the width of the columns.
type layout struct{ name, number, graph, most int }

// layout shares the width as git does: the graph gets at most 3/8 of it where
// not all fits, and the names what is left.
func (s *Stat) layout() layout {
	l := layout{}
	bin := 0
	for _, r := range s.rows {
		l.name = max(l.name, len(r.name))
		if r.binary {
			bin = max(bin, len(fmt.Sprintf("Bin %d -> %d bytes", r.oldSize, r.newSize)))
			l.number = max(l.number, len("Bin"))
			continue
		}
		l.most = max(l.most, r.changed())
	}
	l.number = max(l.number, len(strconv.Itoa(l.most)))
	l.graph = max(l.most, bin-len("Bin "))
	around := l.number + 6 // spaces and the bar
	if l.name+around+l.graph > statWidth {
		l.graph = min(l.graph, max(6, statWidth*3/8-around))
		l.name = min(l.name, statWidth-around-l.graph)
		l.graph = statWidth - around - l.name
	}
	return l
}

func (l layout) writeRow(w *bufio.Writer, r statRow) {
	fmt.Fprintf(w, " %-*s | ", l.name, l.shorten(r.name))
	if r.binary {
		fmt.Fprintf(w, "%*s", l.number, "Bin")
		if r.oldSize != 0 || r.newSize != 0 {
			fmt.Fprintf(w, " %d -> %d bytes", r.oldSize, r.newSize)
		}
		w.WriteByte('\n')
		return
	}
	fmt.Fprintf(w, "%*d", l.number, r.changed())
	if r.changed() > 0 {
		plus, minus := l.scale(r.added, r.deleted)
		fmt.Fprintf(w, " %s%s", strings.Repeat("+", plus), strings.Repeat("-", minus))
	}
	w.WriteByte('\n')
}

// shorten cuts a long name from the left, at a slash if there is one.
func (l layout) shorten(name string) string {
	if len(name) <= l.name {
		return name
	}
	name = name[len(name)-max(0, l.name-len("...")):]
	if slash := strings.IndexByte(name, '/'); slash >= 0 {
		name = name[slash:]
	}
	return "..." + name
}

// scale gives the signs for the lines. A file with both kinds shows both.
func (l layout) scale(added, deleted int) (plus, minus int) {
	if l.graph > l.most {
		return added, deleted
	}
	total := l.linear(added + deleted)
	if total < 2 && added > 0 && deleted > 0 {
		total = 2
	}
	if added < deleted {
		plus = l.linear(added)
		return plus, total - plus
	}
	minus = l.linear(deleted)
	return total - minus, minus
}

func (l layout) linear(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + n*(l.graph-1)/l.most
}

func totals(files, added, deleted int) string {
	line := " " + plural(files, "file") + " changed"
	if added > 0 || deleted == 0 {
		line += ", " + plural(added, "insertion") + "(+)"
	}
	if deleted > 0 || added == 0 {
		line += ", " + plural(deleted, "deletion") + "(-)"
	}
	return line + "\n"
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// renamed is "from => path", with the directories that both share said once:
// "dir/{a => b}/c".
func renamed(from, path string) string {
	if Quote(from) != from || Quote(path) != path {
		return Quote(from) + " => " + Quote(path)
	}
	head := sharedHead(from, path)
	tail := sharedTail(from, path, head)
	if head+tail == 0 {
		return from + " => " + path
	}
	middle := func(name string) string { return name[head:max(head, len(name)-tail)] }
	return from[:head] + "{" + middle(from) + " => " + middle(path) + "}" + from[len(from)-tail:]
}

// sharedHead is the length of the directories that both names begin with.
func sharedHead(a, b string) int {
	head := 0
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if a[i] == '/' {
			head = i + 1
		}
	}
	return head
}

// sharedTail is the length of what both names end with from a slash on. That
// slash may be the last one of the head: "a/b => b" in "x/" has one for both.
func sharedTail(a, b string, head int) int {
	tail := 0
	first := max(head-1, 0)
	for n := 1; n <= len(a)-first && n <= len(b)-first && a[len(a)-n] == b[len(b)-n]; n++ {
		if a[len(a)-n] == '/' {
			tail = n
		}
	}
	return tail
}
