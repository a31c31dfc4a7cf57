package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/template"
)

// page is docs/performance.md without its figures.
//
//go:embed performance.md.tmpl
var page string

// report prints what was measured and writes the page.
func (b *bench) report(out io.Writer) error {
	f := figures{}
	for _, r := range b.results {
		f[r.key] = r
	}
	if err := b.printTables(out, f); err != nil || b.opt.out == "" {
		return err
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"table": f.table, "short": f.short, "targets": f.targets, "machine": b.machine.table,
	}).Parse(page)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := t.Execute(&text, b.facts()); err != nil {
		return err
	}
	return os.WriteFile(b.opt.out, []byte(text.String()), 0o644)
}

// facts are what the page names besides the tables.
func (b *bench) facts() any {
	return struct {
		Runs                      int
		Many, Few                 string
		Random, Written, Sequence string
	}{b.opt.runs, b.many, b.few, inBytes(float64(b.size.random)), inBytes(float64(b.size.written)), inBytes(float64(b.size.sequential))}
}

// printTables prints what was measured in this run, all of it or not.
func (b *bench) printTables(out io.Writer, f figures) error {
	for _, r := range b.results {
		table, err := f.table(r.key)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n\n%s\n", r.title, table); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "The figures to reach\n\n%s", f.targets())
	return err
}

// table of one subject. One that is not among the keys means that the page and the
// keys have parted.
func (f figures) table(key string) (string, error) {
	r := f[key]
	if r == nil && slices.Contains(keys, key) {
		return "Not measured in this run.\n", nil
	}
	if r == nil {
		return "", fmt.Errorf("no subject %s", key)
	}
	rows := [][]string{r.heading()}
	for _, c := range r.candidates {
		rows = append(rows, r.row(c.name, len(rows[0])))
	}
	return markdown(rows), nil
}

func (r *result) heading() []string {
	head := []string{"", "median", "min – max"}
	if r.rate != "" {
		head = append(head, r.rate)
	}
	for _, base := range r.bases {
		head = append(head, "× "+base)
	}
	return head
}

func (r *result) row(name string, width int) []string {
	m, ok := r.median(name)
	if !ok {
		row := make([]string, width)
		row[0], row[1] = name, "not measured: "+r.absent[name]
		return row
	}
	s := r.samples[name]
	row := []string{name, r.unit(m), r.unit(quantile(s, 0)) + " – " + r.unit(quantile(s, 1))}
	if r.rate != "" {
		row = append(row, grouped(r.amount/m))
	}
	for _, base := range r.bases {
		cell := "–"
		if v, ok := r.median(base); ok {
			cell = digits(m / v)
		}
		row = append(row, cell)
	}
	return row
}
