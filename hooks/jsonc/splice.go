package jsonc

import (
	"bytes"

	"github.com/tailscale/hujson"
)

// span is where an element, or a member with its name, stands.
type span struct{ start, end int }

// spans gives what is in an object or an array.
func spans(at hujson.Value) []span {
	var all []span
	switch v := at.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			all = append(all, span{m.Name.StartOffset, m.Value.EndOffset})
		}
	case *hujson.Array:
		for _, e := range v.Elements {
			all = append(all, span{e.StartOffset, e.EndOffset})
		}
	}
	return all
}

// insert puts a value, behind its name if it has one, at the end of a container: on a
// line of its own, behind the comment that stands beside the last element.
func (t *Text) insert(at hujson.Value, value any, name string) error {
	all := spans(at)
	indent := t.indentOf(at.StartOffset) + t.unit
	if n := len(all); n > 0 && t.leads(all[n-1].start) {
		indent = t.indentOf(all[n-1].start)
	}
	text, err := t.render(value, indent)
	if err != nil {
		return err
	}
	text = name + text
	if t.nl != "" {
		text = t.nl + indent + text
	}
	if len(all) == 0 {
		return t.fill(at, text)
	}
	last := all[len(all)-1].end
	if comma := skip(t.b, last); t.b[comma] == ',' {
		return t.splice(put{t.beside(comma + 1), text + ","})
	}
	return t.splice(put{last, ","}, put{t.beside(last), text})
}

// fill puts the first element into a container.
func (t *Text) fill(at hujson.Value, text string) error {
	q, end := t.beside(at.StartOffset+1), at.EndOffset-1
	if t.nl != "" && !bytes.Contains(t.b[q:end], []byte("\n")) {
		text += t.nl + t.indentOf(at.StartOffset)
	}
	return t.splice(put{q, text})
}

// Remove cuts the value that path leads to: names of members and places in arrays. A
// container that is left with nothing at all in it goes too, but for the root.
func (t *Text) Remove(path ...any) error {
	parent, i := t.walk(path)
	all := spans(parent)
	if i < 0 || i >= len(all) {
		return nil
	}
	gone := all[i]
	cuts := []span{{t.front(parent, all, i), gone.end}}
	if comma := skip(t.b, gone.end); t.b[comma] == ',' {
		cuts = append(cuts, span{comma, comma + 1})
	} else if i > 0 {
		comma := skip(t.b, all[i-1].end)
		cuts = append([]span{{comma, comma + 1}}, cuts...)
	}
	if err := t.cut(cuts...); err != nil || len(all) > 1 {
		return err
	}
	return t.prune(path[:len(path)-1])
}

// prune clears a container that has nothing in it but space, and removes it, unless
// it has a comment behind its name.
func (t *Text) prune(path []any) error {
	at, noted := t.root, true
	if len(path) > 0 {
		parent, i := t.walk(path)
		at, noted = value(parent, i), t.noted(parent, i)
	}
	inner := span{at.StartOffset + 1, at.EndOffset - 1}
	if len(bytes.TrimSpace(t.b[inner.start:inner.end])) > 0 {
		return nil
	}
	if err := t.cut(inner); err != nil || noted {
		return err
	}
	return t.Remove(path...)
}

// noted tells whether a comment stands between a member's name and its value.
func (t *Text) noted(parent hujson.Value, i int) bool {
	obj, ok := parent.Value.(*hujson.Object)
	if !ok {
		return false
	}
	m := obj.Members[i]
	return bytes.Contains(t.b[m.Name.EndOffset:m.Value.StartOffset], []byte("/"))
}

// walk gives the container that the last step of path is in, and its place there.
func (t *Text) walk(path []any) (parent hujson.Value, i int) {
	at := t.root
	for _, step := range path {
		parent, i = at, -1
		switch s := step.(type) {
		case string:
			i = member(at, s)
		case int:
			i = s
		}
		at = value(parent, i)
	}
	return parent, i
}

// value gives what is at a place in a container.
func value(at hujson.Value, i int) hujson.Value {
	switch v := at.Value.(type) {
	case *hujson.Object:
		if i >= 0 && i < len(v.Members) {
			return v.Members[i].Value
		}
	case *hujson.Array:
		if i >= 0 && i < len(v.Elements) {
			return v.Elements[i]
		}
	}
	return hujson.Value{}
}

// front gives where the cut of an element begins: with its line, if it stands first
// on one, else with the space before it. The end of a line comment before it stays
// where something follows the element on its line.
func (t *Text) front(parent hujson.Value, all []span, i int) int {
	a := all[i].start
	for a > 0 && (t.b[a-1] == ' ' || t.b[a-1] == '\t') {
		a--
	}
	if a == 0 || t.b[a-1] != '\n' {
		return a
	}
	from := parent.StartOffset + 1
	if i > 0 {
		from = all[i-1].end
	}
	rest, _, _ := bytes.Cut(t.b[all[i].end:], []byte("\n"))
	rest = bytes.TrimPrefix(bytes.TrimSpace(rest), []byte(","))
	if len(rest) > 0 && endsComment(t.b[from:a]) {
		return all[i].start
	}
	a--
	if a > 0 && t.b[a-1] == '\r' {
		a--
	}
	return a
}

// put is text to be inserted at an offset.
type put struct {
	at   int
	text string
}

// splice inserts texts; their offsets, which ascend, are those of now.
func (t *Text) splice(puts ...put) error {
	var b []byte
	from := 0
	for _, p := range puts {
		b = append(append(b, t.b[from:p.at]...), p.text...)
		from = p.at
	}
	return t.set(append(b, t.b[from:]...))
}

// cut takes spans away; they ascend.
func (t *Text) cut(cuts ...span) error {
	var b []byte
	from := 0
	for _, c := range cuts {
		b = append(b, t.b[from:c.start]...)
		from = c.end
	}
	return t.set(append(b, t.b[from:]...))
}
