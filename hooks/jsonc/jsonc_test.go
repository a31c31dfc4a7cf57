package jsonc_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"agentfs.internal/hooks/jsonc"
)

type entry struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

var ours = entry{"/usr/bin/x & y", []string{"a"}}

// in appends to hooks.Stop, as an installer does; out takes it away again.
func in(t testing.TB, text string) string {
	doc, err := jsonc.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if err := doc.Append(ours, "hooks", "Stop"); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return string(doc.Bytes())
}

func out(t testing.TB, text string) string {
	doc, err := jsonc.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var list []json.RawMessage
	doc.Decode(&list, "hooks", "Stop")
	if err := doc.Remove("hooks", "Stop", len(list)-1); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return string(doc.Bytes())
}

// What is inserted stands where people would put it.
func TestAppend(t *testing.T) {
	const stop = `{"command":"/usr/bin/x & y","args":["a"]}`
	const lines = "{\n        \"command\": \"/usr/bin/x & y\",\n        \"args\": [\n          \"a\"\n        ]\n      }"
	tests := []struct{ name, text, want string }{
		{"nothing there", "{}\n", "{\n  \"hooks\": {\n    \"Stop\": [\n      " + lines + "\n    ]\n  }\n}\n"},
		{"one line", `{"a":1}`, `{"a":1,"hooks":{"Stop":[` + stop + `]}}`},
		{"one line, comma", `{"a":1,}`, `{"a":1,"hooks":{"Stop":[` + stop + `]},}`},
		{"comment beside", "{\n  \"a\": 1 // one\n}", "{\n  \"a\": 1, // one\n  \"hooks\": {\n    \"Stop\": [\n      " + lines + "\n    ]\n  }\n}"},
		{"comma, comment beside", "{\n  \"a\": 1, // one\n  // two\n}", "{\n  \"a\": 1, // one\n  \"hooks\": {\n    \"Stop\": [\n      " + lines + "\n    ]\n  },\n  // two\n}"},
		{"an array of another's", "{\n  \"hooks\": {\n    \"Stop\": [\n      7\n    ]\n  }\n}", "{\n  \"hooks\": {\n    \"Stop\": [\n      7,\n      " + lines + "\n    ]\n  }\n}"},
	}
	for _, test := range tests {
		if have := in(t, test.text); have != test.want {
			t.Errorf("%s: have\n%s\nwant\n%s", test.name, have, test.want)
		}
	}
}

var shapes = map[string]string{
	"plain":               "{\n  \"model\": \"opus\",\n  \"env\": {\"A\": \"1\"}\n}\n",
	"no new line at end":  "{\n  \"model\": \"opus\"\n}",
	"tabs":                "{\n\t\"a\": {\n\t\t\"b\": [1]\n\t}\n}\n",
	"four":                "{\n    \"a\": 1\n}\n",
	"CRLF":                "{\r\n  \"a\": 1, // one\r\n  \"b\": 2\r\n}\r\n",
	"CRLF comment last":   "{\r\n  \"a\": 1 // one\r\n}\r\n",
	"comment at the end":  "{\n  \"a\": 1\n}\n// bottom",
	"one line":            `{"a":1,"b":[]}`,
	"one line, spaces":    `{ "a" : 1 , "b" : 2 }`,
	"comments all over":   "// top\n{ // open\n  // before\n  \"a\": 1, // beside\n  /* block */ \"b\": /* in */ 2 /* after */ // more\n  // last\n} // end\n// bottom\n",
	"trailing comma":      "{\n  \"a\": 1,\n}\n",
	"comma and comment":   "{\n  \"a\": 1, // x\n  // y\n}\n",
	"comma after space":   "{\n  \"a\": 1 , // x\n}\n",
	"comment for comma":   "{\n  \"a\": 1 /* x */ , /* y */ // z\n\n}\n",
	"block over lines":    "{\n  \"a\": 1 /* x\n  y */\n}\n",
	"hooks of another":    "{\n  \"hooks\": {\n    // mine\n    \"Stop\": [\n      // this\n      {\"hooks\": [{\"command\": \"x\"}]} // that\n      // end\n    ],\n    \"Other\": [] // none\n  }, // after\n  \"z\": null\n}\n",
	"array on a line":     "{\n  \"hooks\": {\"Stop\": [{\"command\": \"x\"}]}\n}\n",
	"odd layout":          "{\"a\"\n:\n1\n,\n\"b\"\n:{}}",
	"closing beside":      "{\n  \"a\": 1}",
	"comment in empty":    "{\n  \"hooks\": { // none yet\n  }\n}\n",
	"empty but a comment": "{\n  // nothing\n}\n",
}

// What goes in comes out, and all else stays byte by byte.
func TestRoundTrip(t *testing.T) {
	for name, text := range shapes {
		if have := out(t, in(t, text)); have != text {
			t.Errorf("%s: have\n%s\nwant\n%s\ninstalled\n%s", name, have, text, in(t, text))
		}
	}
}

// What was added by others in between stays too.
func TestRemoveAmongOthers(t *testing.T) {
	tests := []struct{ text, want string }{
		{"{\n  \"hooks\": {\n    \"Stop\": [\n      1, // one\n      2\n    ]\n  }\n}", "{\n  \"hooks\": {\n    \"Stop\": [\n      1 // one\n    ]\n  }\n}"},
		{"{\n  \"hooks\": { // c\n    \"Stop\": [1]}\n}", "{\n  \"hooks\": { // c\n    }\n}"},
		{`{"hooks":{"Stop":[1]},"x":2}`, `{"x":2}`},
		{`{"hooks":{"Stop":[1]}}`, `{}`},
	}
	for _, test := range tests {
		if have := out(t, test.text); have != test.want {
			t.Errorf("have\n%s\nwant\n%s", have, test.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "line 1, column 1: parsing value: unexpected EOF",
		"{\n  \"a\": 1\n  \"b\": 2}": `line 3, column 3: invalid character '"' after object value (expecting ',' or '}')`,
		"[]":                         "line 1: not a JSON object",
		"{} {}":                      "line 1, column 4: invalid character '{' after top-level value",
	} {
		if _, err := jsonc.Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"{\n  \"hooks\": []}":         `line 2, column 12: "hooks" is no JSON object`,
		"{\"hooks\":{\"Stop\":null}}": `line 1, column 18: "hooks.Stop" is no JSON array`,
	} {
		doc, err := jsonc.Parse([]byte(text))
		if err == nil {
			err = doc.Append(1, "hooks", "Stop")
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzRoundTrip: whatever stands in a file, an element that goes in comes out, and
// the file says what it said; to the byte, where no container was empty.
func FuzzRoundTrip(f *testing.F) {
	for _, text := range shapes {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := jsonc.Parse([]byte(text))
		if err != nil || doc.Append(ours, "hooks", "Stop") != nil {
			return
		}
		installed := string(doc.Bytes())
		have := out(t, installed)
		if have != text && !hasEmpty(t, text) {
			t.Errorf("have %q\nwant %q\ninstalled %q", have, text, installed)
		}
		if a, b := comments(have), comments(text); a != b {
			t.Errorf("%d slashes in comments, were %d: %q", a, b, have)
		}
		if a, b := decode(t, have), decode(t, text); !reflect.DeepEqual(a, b) && !hasEmpty(t, text) {
			t.Errorf("says %v, said %v", a, b)
		}
	})
}

// hasEmpty tells whether a container that the edit goes through has nothing in it: how
// much space was there is then not known.
func hasEmpty(t *testing.T, text string) bool {
	root, _ := decode(t, text).(map[string]any)
	hooks, hasHooks := root["hooks"].(map[string]any)
	stop, hasStop := hooks["Stop"].([]any)
	return len(root) == 0 || hasHooks && len(hooks) == 0 || hasStop && len(stop) == 0
}

// comments counts the slashes that stand in comments.
func comments(text string) int {
	v, _ := hujson.Parse([]byte(text + "\n"))
	v.Minimize()
	return strings.Count(text, "/") - strings.Count(string(v.Pack()), "/")
}

func decode(t *testing.T, text string) (v any) {
	plain, err := hujson.Standardize([]byte(text + "\n"))
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(plain))
		dec.UseNumber() // they may be beyond any
		err = dec.Decode(&v)
	}
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}
