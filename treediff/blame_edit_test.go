package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// content is a file, or a symbolic link to its first line.
type content struct {
	lines []string // with their newlines
	exec  bool
	link  bool
}

var names = []string{"a", "b", "c.txt", "sub/a", "sub/b", "sub/deep/d e", "sub/grün", "other/a", "other/x/y", "z"}

// edit changes a path or two that nothing else in this step has.
func (h *history) edit(state map[string]content, touched map[string]bool) {
	path, other := names[h.rnd.IntN(len(names))], names[h.rnd.IntN(len(names))]
	if touched[path] || touched[other] {
		return
	}
	touched[path] = true
	c, ok := state[path]
	_, taken := state[other]
	switch n := h.rnd.IntN(30); {
	case !ok:
		state[path] = content{lines: h.fresh(h.rnd.IntN(40))}
	case n == 0:
		delete(state, path)
	case n < 14 && path != other && !c.link && (n == 1 || !taken): // once in the place of another one
		delete(state, path)
		state[other], touched[other] = c, true
	case n == 14 || c.link:
		state[path] = content{lines: h.fresh(1), link: !c.link}
	default:
		c.lines = slices.Clone(c.lines)
		h.editLines(&c)
		state[path] = c
	}
}

func (h *history) editLines(c *content) {
	last := len(c.lines) - 1
	switch n := h.rnd.IntN(20); {
	case n < 2:
		c.exec = !c.exec
	case n == 2:
		c.lines = nil
	case n == 3:
		for i, line := range c.lines {
			c.lines[i] = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") + []string{"\n", "\r\n"}[h.rnd.IntN(2)]
		}
	case n < 6 && last >= 0:
		if bare, cut := strings.CutSuffix(c.lines[last], "\n"); cut {
			c.lines[last] = bare
		} else {
			c.lines[last] += "\n"
		}
	default:
		for range 1 + h.rnd.IntN(4) {
			at := h.rnd.IntN(len(c.lines) + 1)
			end := min(len(c.lines), at+h.rnd.IntN(6))
			put := h.fresh(h.rnd.IntN(6))
			if at == len(c.lines) && at > 0 && len(put) > 0 {
				c.lines[at-1] = strings.TrimSuffix(c.lines[at-1], "\n") + "\n"
			}
			c.lines = slices.Replace(c.lines, at, end, put...)
		}
	}
}

func (h *history) fresh(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		h.made++
		lines[i] = fmt.Sprintf("%d%s\n", h.made, strings.Repeat(" word", h.made%9))
	}
	return lines
}

func (h *history) write(state map[string]content, dir string) {
	h.t.Helper()
	err := os.Mkdir(dir, 0o755)
	for path, c := range state {
		full, text := filepath.Join(dir, path), strings.Join(c.lines, "")
		mode := os.FileMode(0o644)
		if c.exec {
			mode = 0o755
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(full), 0o755)
		}
		if err == nil && c.link {
			err = os.Symlink(strings.TrimSpace(text), full)
		} else if err == nil {
			err = os.WriteFile(full, []byte(text), mode)
		}
	}
	if err != nil {
		h.t.Fatal(err)
	}
}
