package jsonc

import "bytes"

// skip gives the offset of the first byte from i on that is neither space nor in a
// comment.
func skip(b []byte, i int) int {
	for i < len(b) {
		next := i
		switch {
		case isSpace(b[i]):
			next++
		case bytes.HasPrefix(b[i:], []byte("//")):
			next = lineEnd(b, i)
		case bytes.HasPrefix(b[i:], []byte("/*")):
			next = blockEnd(b, i)
		}
		if next == i {
			return i
		}
		i = next
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// lineEnd gives the offset of the end of the line that i is in.
func lineEnd(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(b)
}

// blockEnd gives the offset behind the block comment that begins at i.
func blockEnd(b []byte, i int) int {
	if n := bytes.Index(b[i+2:], []byte("*/")); n >= 0 {
		return i + 2 + n + 2
	}
	return len(b)
}

// endsComment tells whether the last byte of b, a new line among space and comments,
// ends a line comment.
func endsComment(b []byte) bool {
	for i := 0; i < len(b); {
		switch {
		case bytes.HasPrefix(b[i:], []byte("//")):
			i = lineEnd(b, i)
			if i == len(b)-1 {
				return true
			}
		case bytes.HasPrefix(b[i:], []byte("/*")):
			i = blockEnd(b, i)
		default:
			i++
		}
	}
	return false
}

// beside gives the offset behind the comments that follow on the line of i; i itself
// where there is none, or where all is on one line.
func (t *Text) beside(i int) int {
	if t.nl == "" {
		return i
	}
	for j := i; j < len(t.b); {
		switch {
		case t.b[j] == ' ' || t.b[j] == '\t':
			j++
		case bytes.HasPrefix(t.b[j:], []byte("//")):
			return j + len(bytes.TrimSuffix(t.b[j:lineEnd(t.b, j)], []byte("\r")))
		case bytes.HasPrefix(t.b[j:], []byte("/*")) && blockEnd(t.b, j) <= lineEnd(t.b, j):
			j = blockEnd(t.b, j)
			i = j
		default:
			return i
		}
	}
	return i
}

// indentOf gives the space at the front of the line that i is in.
func (t *Text) indentOf(i int) string {
	line := t.b[bytes.LastIndexByte(t.b[:i], '\n')+1 : i]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// leads tells whether nothing but space stands before i on its line.
func (t *Text) leads(i int) bool {
	return len(t.indentOf(i)) == i-bytes.LastIndexByte(t.b[:i], '\n')-1
}
