// Package patch is a placeholder.
package patch

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

type Side struct {
	Mode    uint32
	Content []byte
}

type File struct {
	From, Path string
	Old, New   Side
}

func Write(w io.Writer, f File) error {
	_, err := fmt.Fprintf(w, "diff --git a/%s b/%s\n", f.From, f.Path)
	return err
}

func Skipped(f File) string { return "" }

func Count(old, new []byte) (added, deleted int, binary bool) {
	return bytes.Count(new, []byte{'\n'}), bytes.Count(old, []byte{'\n'}), bytes.IndexByte(old, 0) >= 0 || bytes.IndexByte(new, 0) >= 0
}

type Stat struct{ n int }

func (s *Stat) Add(path, from string, added, deleted int, binary bool, oldSize, newSize int64) { s.n++ }
func (s *Stat) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, " %d files changed\n", s.n)
	return err
}
func Quote(path string) string { return strconv.Quote(path) }
