package command

import (
	"flag"
	"fmt"
	"strings"
)

// help is the text for -h: synopsis, manual, verbs, flags.
func (n *node) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s", n.path())
	if len(n.flagNames()) > 0 {
		b.WriteString(" [flags]")
	}
	if len(n.below) > 0 {
		b.WriteString(" <verb>")
	}
	if n.Args != "" {
		b.WriteString(" " + n.Args)
	}
	fmt.Fprintf(&b, "\n\n%s\n", n.Short)
	if n.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(n.Long))
	}
	n.helpVerbs(&b)
	for m := n; m != nil; m = m.above() {
		helpFlags(&b, m)
	}
	return b.String()
}

// helpVerbs lists the verbs as seed 000 draws them: two levels, arguments shown.
func (n *node) helpVerbs(b *strings.Builder) {
	if len(n.below) == 0 {
		return
	}
	var rows [][2]string
	for _, c := range n.below {
		if c.Hidden {
			continue
		}
		rows = append(rows, [2]string{strings.TrimSpace(c.Name + " " + c.Args), c.Short})
		for _, s := range c.below {
			if !s.Hidden {
				rows = append(rows, [2]string{"  " + strings.TrimSpace(s.Name+" "+s.Args), s.Short})
			}
		}
	}
	b.WriteString("\nverbs:\n")
	writeRows(b, rows)
}

func helpFlags(b *strings.Builder, n *node) {
	var rows [][2]string
	short := map[string]string{}
	n.ff.FlagSet.VisitAll(func(f *flag.Flag) {
		if long, ok := strings.CutPrefix(f.Usage, aliasOf); ok {
			short[long] = "-" + f.Name + ", "
		}
	})
	n.ff.FlagSet.VisitAll(func(f *flag.Flag) {
		if strings.HasPrefix(f.Usage, aliasOf) {
			return
		}
		value, text := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
			text += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		rows = append(rows, [2]string{strings.TrimSpace(short[f.Name] + "--" + f.Name + " " + value), text})
	})
	if n.parent == nil {
		rows = append(rows, [2]string{"-h, --help", "show help"}, [2]string{"--version", "show the version"})
	}
	if len(rows) == 0 {
		return
	}
	title := "flags"
	if n.parent == nil {
		title = "global flags"
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	writeRows(b, rows)
}

const aliasOf = "alias of "

// Alias gives the flag long a second, one-letter name.
func Alias(fs *flag.FlagSet, short, long string) {
	fs.Var(fs.Lookup(long).Value, short, aliasOf+long)
}

func writeRows(b *strings.Builder, rows [][2]string) {
	width := 0
	for _, r := range rows {
		width = max(width, len([]rune(r[0])))
	}
	for _, r := range rows {
		pad := strings.Repeat(" ", width-len([]rune(r[0])))
		fmt.Fprintf(b, "  %s%s  %s\n", r[0], pad, r[1])
	}
}

// Nearest gives the name that differs from word in the fewest letters, or ""
// if none is near: more than a third of its letters would have to change.
func Nearest(word string, names []string) string {
	best, least := "", len(word)/3+2
	for _, name := range names {
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
