package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"agentfs.internal/tool/status"
)

// setting is what stands in a line of a TOML file: a key with its value, or a
// table's header.
type setting struct {
	key   string // in full, with dots
	line  int
	table bool
	value any // as go-toml gives it
}

// settings reads a TOML file, in its order. The values are those of go-toml's
// decoder, which knows all rules; its parser tells the lines.
func settings(file string, text []byte) ([]setting, error) {
	var values map[string]any
	if err := toml.Unmarshal(text, &values); err != nil {
		var at *toml.DecodeError
		if !errors.As(err, &at) {
			return nil, status.Errorf(status.Usage, "%s: %w", file, err)
		}
		line, column := at.Position()
		return nil, status.Errorf(status.Usage, "%s:%d:%d: %s", file, line, column, strings.TrimPrefix(at.Error(), "toml: "))
	}
	r := &tomlReader{values: values}
	r.parser.Reset(text)
	for r.parser.NextExpression() {
		r.expression(r.parser.Expression())
	}
	return r.found, nil // what the decoder took the parser takes
}

// tomlReader collects settings.
type tomlReader struct {
	parser unstable.Parser
	values map[string]any
	table  []string // whose header came last
	found  []setting
}

func (r *tomlReader) expression(e *unstable.Node) {
	switch e.Kind {
	case unstable.Table:
		key, line := r.key(e)
		r.table = key
		r.found = append(r.found, setting{key: dotted(key), line: line, table: true})
	case unstable.ArrayTable: // no key is in one
		key, line := r.key(e)
		r.table = key
		r.found = append(r.found, setting{key: "[[" + dotted(key) + "]]", line: line})
	case unstable.KeyValue:
		r.value(r.table, e)
	}
}

// value notes a key below a table. What stands in an inline table are keys too.
func (r *tomlReader) value(table []string, e *unstable.Node) {
	key, line := r.key(e)
	key = append(append([]string{}, table...), key...)
	if e.Value().Kind != unstable.InlineTable {
		r.found = append(r.found, setting{key: dotted(key), line: line, value: lookUp(r.values, key)})
		return
	}
	for each := e.Value().Children(); each.Next(); {
		r.value(key, each.Node())
	}
}

// key gives a key's parts, and the line of the first.
func (r *tomlReader) key(e *unstable.Node) (parts []string, line int) {
	for each := e.Key(); each.Next(); {
		if line == 0 {
			line = r.parser.Shape(each.Node().Raw).Start.Line
		}
		parts = append(parts, string(each.Node().Data))
	}
	return parts, line
}

// dotted joins a key's parts. One with a dot in it is not two.
func dotted(parts []string) string {
	words := make([]string, len(parts))
	for i, part := range parts {
		if words[i] = part; part == "" || strings.Contains(part, ".") {
			words[i] = strconv.Quote(part)
		}
	}
	return strings.Join(words, ".")
}

// lookUp gives the value of a key, nil for one in an array of tables.
func lookUp(values any, key []string) any {
	for _, part := range key {
		table, _ := values.(map[string]any)
		values = table[part]
	}
	return values
}

// tomlValue reads a value as it could stand in a TOML file; nil if it could not.
func tomlValue(text string) any {
	var values map[string]any
	if toml.Unmarshal([]byte("v = "+text), &values) != nil || len(values) != 1 {
		return nil
	}
	return values["v"]
}

// tomlText writes a value as it stands in a TOML file.
func tomlText(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	text, _ := toml.Marshal(map[string]any{"v": v}) // it comes from a TOML file
	return strings.TrimSpace(strings.TrimPrefix(string(text), "v = "))
}
