// Package jsonc edits JSON files that people write, comments and trailing commas
// included. An edit inserts or cuts bytes of its own and leaves all others where they
// are; a cut of what was inserted gives back the text that there was.
package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// Text is a document while it is edited. Its root is an object.
type Text struct {
	b    []byte
	root hujson.Value
	nl   string // the end of a line; "" where all stands on one
	unit string // one step of indentation
}

// Parse reads a document. The error names line and column.
func Parse(b []byte) (*Text, error) {
	t := &Text{}
	if err := t.set(bytes.Clone(b)); err != nil {
		return nil, err
	}
	if _, ok := t.root.Value.(*hujson.Object); !ok {
		return nil, errors.New("line 1: not a JSON object")
	}
	t.style()
	return t, nil
}

// Bytes gives the document as it is now.
func (t *Text) Bytes() []byte { return t.b }

func (t *Text) set(b []byte) error {
	root, err := hujson.Parse(b)
	if err != nil { // perhaps only for a line comment that ends with the file
		if again, e := hujson.Parse(append(bytes.Clone(b), '\n')); e == nil {
			root, err = again, nil
		}
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	t.b, t.root = b, root
	return nil
}

// style looks at how the document is laid out.
func (t *Text) style() {
	t.nl, t.unit = "\n", "  "
	if bytes.Contains(t.b, []byte("\r\n")) {
		t.nl = "\r\n"
	}
	all := spans(t.root)
	if len(all) == 0 {
		return
	}
	first := all[0].start
	switch indent := t.indentOf(first); {
	case !bytes.Contains(t.b[t.root.StartOffset:first], []byte("\n")):
		t.nl, t.unit = "", ""
	case indent != "":
		t.unit = indent
	}
}

// Add puts a member with this value into the object that keys lead to, the last key
// being its name, unless there is one.
func (t *Text) Add(value any, keys ...string) error {
	where, key := keys[:len(keys)-1], keys[len(keys)-1]
	if _, ok := t.find(keys); ok {
		return nil
	}
	at, err := t.object(where)
	if err != nil {
		return err
	}
	name, err := t.render(key, "")
	if err != nil {
		return err
	}
	colon := ": "
	if t.nl == "" {
		colon = ":"
	}
	return t.insert(at, value, name+colon)
}

// Append puts a value at the end of the array that keys lead to, which is made where
// it is missing.
func (t *Text) Append(value any, keys ...string) error {
	for i := range keys {
		empty := any(struct{}{})
		if i == len(keys)-1 {
			empty = []int{}
		}
		if err := t.Add(empty, keys[:i+1]...); err != nil {
			return err
		}
	}
	at, _ := t.find(keys)
	if _, ok := at.Value.(*hujson.Array); !ok {
		return t.wrong(at, keys, "array")
	}
	return t.insert(at, value, "")
}

// object gives the object that keys lead to.
func (t *Text) object(keys []string) (hujson.Value, error) {
	at, _ := t.find(keys)
	if _, ok := at.Value.(*hujson.Object); !ok {
		return at, t.wrong(at, keys, "object")
	}
	return at, nil
}

func (t *Text) wrong(at hujson.Value, keys []string, want string) error {
	before := t.b[:at.StartOffset]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := at.StartOffset - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %q is no JSON %s", line, column, strings.Join(keys, "."), want)
}

// find gives the value that keys lead to from the root; of members with the same name
// the last one, as JavaScript does.
func (t *Text) find(keys []string) (hujson.Value, bool) {
	at := t.root
	for _, key := range keys {
		i := member(at, key)
		if i < 0 {
			return hujson.Value{}, false
		}
		at = at.Value.(*hujson.Object).Members[i].Value
	}
	return at, true
}

// member gives the place of a member in an object, -1 where there is none.
func member(at hujson.Value, key string) int {
	found := -1
	if obj, ok := at.Value.(*hujson.Object); ok {
		for i, m := range obj.Members {
			if m.Name.Value.(hujson.Literal).String() == key {
				found = i
			}
		}
	}
	return found
}

// Decode reads the value that keys lead to as plain JSON. What has another type than
// into wants is left out; a missing value leaves all of it out.
func (t *Text) Decode(into any, keys ...string) {
	at, ok := t.find(keys)
	if !ok {
		return
	}
	at = at.Clone()
	at.Standardize()
	_ = json.Unmarshal(at.Pack(), into)
}

// Keys gives the names of the members of the object that keys lead to.
func (t *Text) Keys(keys ...string) []string {
	var names []string
	at, _ := t.find(keys)
	if obj, ok := at.Value.(*hujson.Object); ok {
		for _, m := range obj.Members {
			names = append(names, m.Name.Value.(hujson.Literal).String())
		}
	}
	return names
}

// render writes a value as JSON, its further lines indented by indent.
func (t *Text) render(value any, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if t.nl != "" {
		enc.SetIndent(indent, t.unit)
	}
	err := enc.Encode(value)
	text := strings.TrimSuffix(b.String(), "\n")
	if t.nl != "" {
		text = strings.ReplaceAll(text, "\n", t.nl)
	}
	return text, err
}
