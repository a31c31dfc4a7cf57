package main

import (
	"fmt"
	"math"
	"strings"
)

// inSeconds as people read them, with three digits.
func inSeconds(s float64) string {
	if math.Abs(s) < 1 {
		return digits(s*1000) + " ms"
	}
	return digits(s) + " s"
}

// inBytes as people read them, with three digits.
func inBytes(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	i := 0
	for math.Abs(n) >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	return digits(n) + " " + units[i]
}

func times(v float64) string { return digits(v) + " ×" }

// digits gives three of them, and all before the point.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return grouped(v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// grouped: 36,000.
func grouped(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// markdown lays out a table so that it can be read as it is, too.
func markdown(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	rule := make([]string, len(widths))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w)
		if i > 0 {
			rule[i] = strings.Repeat("-", w-1) + ":"
		}
	}
	var b strings.Builder
	for i, row := range rows {
		line(&b, row, widths)
		if i == 0 {
			line(&b, rule, widths)
		}
	}
	return b.String()
}

func line(b *strings.Builder, row []string, widths []int) {
	b.WriteString("|")
	for i, cell := range row {
		pad := strings.Repeat(" ", widths[i]-len([]rune(cell)))
		if i > 0 {
			cell, pad = pad+cell, ""
		}
		fmt.Fprintf(b, " %s%s |", cell, pad)
	}
	b.WriteString("\n")
}
