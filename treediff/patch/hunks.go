package patch

import (
	"bufio"
	"fmt"
)

// context is how many equal lines surround a change.
const context = 3

// writeHunks writes the changes, those together whose context would meet.
func (d *lineDiff) writeHunks(w *bufio.Writer) {
	for first := 0; first < len(d.changes); {
		end := first + 1
		for end < len(d.changes) && d.changes[end].i1-d.changes[end-1].i2 <= 2*context {
			end++
		}
		d.writeHunk(w, d.changes[first:end])
		first = end
	}
}

func (d *lineDiff) writeHunk(w *bufio.Writer, changes []change) {
	first, last := changes[0], changes[len(changes)-1]
	lead := min(context, first.i1)
	trail := min(context, len(d.old)-last.i2)
	i := first.i1 - lead
	fmt.Fprintf(w, "@@ -%s +%s @@\n",
		span(d.before+i, last.i2+trail-i),
		span(d.before+first.j1-lead, last.j2+trail-(first.j1-lead)))
	for _, c := range changes {
		writeLines(w, ' ', d.old[i:c.i1])
		writeLines(w, '-', d.old[c.i1:c.i2])
		writeLines(w, '+', d.new[c.j1:c.j2])
		i = c.i2
	}
	writeLines(w, ' ', d.old[i:i+trail])
}

// span is the first line, counted from 1, and the number of lines; of no lines
// it is the line before them.
func span(before, lines int) string {
	switch lines {
	case 0:
		return fmt.Sprintf("%d,0", before)
	case 1:
		return fmt.Sprint(before + 1)
	}
	return fmt.Sprintf("%d,%d", before+1, lines)
}

func writeLines(w *bufio.Writer, sign byte, lines []string) {
	for _, line := range lines {
		w.WriteByte(sign)
		w.WriteString(line)
		if line[len(line)-1] != '\n' {
			w.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
