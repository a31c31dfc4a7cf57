package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	line, args := cutLine(ts, args)
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: [!] json [-line=N] file path [want]")
	}
	have, err := find(ts.ReadFile(args[0]), line, args[1])
	switch {
	case err != nil && neg:
		return
	case err != nil:
		ts.Fatalf("json: %s: %v", args[0], err)
	case len(args) == 2 && neg:
		ts.Fatalf("json: %s: unexpected %s: %s", args[0], args[1], have)
	case len(args) == 3 && (have == args[2]) == neg:
		ts.Fatalf("json: %s: %s is %s, want %s%s", args[0], args[1], have, map[bool]string{true: "not "}[neg], args[2])
	}
}

func jsonEnv(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: jsonenv VAR [-line=N] file path")
	}
	line, rest := cutLine(ts, args[1:])
	if len(rest) != 2 {
		ts.Fatalf("usage: jsonenv VAR [-line=N] file path")
	}
	value, err := find(ts.ReadFile(rest[0]), line, rest[1])
	if err != nil {
		ts.Fatalf("jsonenv: %s: %v", rest[0], err)
	}
	ts.Setenv(args[0], value)
}

// cutLine takes a leading -line=N off args; 0 stands for none.
func cutLine(ts *testscript.TestScript, args []string) (int, []string) {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-line=") {
		return 0, args
	}
	n, err := strconv.Atoi(strings.TrimPrefix(args[0], "-line="))
	if err != nil || n == 0 {
		ts.Fatalf("json: bad %s", args[0])
	}
	return n, args[1:]
}

// find gives the value at path: a string as it is, everything else as JSON.
func find(text string, line int, path string) (string, error) {
	text, err := pick(text, line)
	if err != nil {
		return "", err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber() // large numbers stay exact
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", fmt.Errorf("not JSON: %w", err)
	}
	if dec.More() {
		return "", fmt.Errorf("more than one record: choose one with -line=N")
	}
	for key := range strings.SplitSeq(path, ".") {
		if v, err = step(v, key); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	return show(v)
}

// pick gives one line of text, counted from 1, or from the end by -1; all of it
// for 0.
func pick(text string, line int) (string, error) {
	if line == 0 {
		return text, nil
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	i := line - 1
	if line < 0 {
		i = len(all) + line
	}
	if i < 0 || i >= len(all) {
		return "", fmt.Errorf("no line %d: there are %d", line, len(all))
	}
	return all[i], nil
}

func step(v any, key string) (any, error) {
	switch at := v.(type) {
	case map[string]any:
		if below, ok := at[key]; ok {
			return below, nil
		}
		return nil, fmt.Errorf("no key %q", key)
	case []any:
		if key == "len" {
			return json.Number(strconv.Itoa(len(at))), nil
		}
		if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(at) {
			return at[i], nil
		}
		return nil, fmt.Errorf("no element %q of %d", key, len(at))
	}
	return nil, fmt.Errorf("no %q in %v", key, v)
}

func show(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
