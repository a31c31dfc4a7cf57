package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"agentfs.internal/tool/fault"
)

// stage tells people what begins now. That nobody may be reading is no reason to
// stop: the result, printed last, tells of a lost output.
func (a *app) stage(format string, args ...any) {
	if !a.json {
		fmt.Fprintf(a.io.Out, format+"\n", args...)
	}
}

// result writes what the command did: the lines for people or, with --json, the
// document.
func (a *app) result(doc any, lines ...string) error {
	if a.json {
		return a.document(doc)
	}
	_, err := io.WriteString(a.io.Out, strings.Join(append(lines, ""), "\n"))
	return err
}

// done is result for what is done and cannot be undone: that it could not be told is
// an error, which tells it.
func (a *app) done(at fault.Step, doc any, lines ...string) error {
	err := at.Reach()
	if err == nil {
		err = a.result(doc, lines...)
	}
	if err != nil {
		return fmt.Errorf("%s all the same: %w", lines[len(lines)-1], err)
	}
	return nil
}

func (a *app) document(doc any) error {
	enc := json.NewEncoder(a.io.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

// table lays out rows: the first column is followed by three spaces at least,
// the others by four, the last by none.
func table(rows [][]string) []string {
	return layOut(rows, func(column int) int { return min(3+column, 4) })
}

// columns lays out rows without a head: two spaces at least behind each column.
func columns(rows [][]string) []string {
	return layOut(rows, func(int) int { return 2 })
}

// layOut brings the cells of each column below each other, with a gap of spaces at
// least behind it.
func layOut(rows [][]string, gap func(column int) int) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+gap(i)))
			}
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}
