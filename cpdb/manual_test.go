package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"agentfs.internal/tool/command"
)

// The package comment is the manual: every verb is in it with its flags, and
// nothing that -h does not know.
func TestManualMatchesHelp(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	manual, _, _ := strings.Cut(string(source), "\npackage main")
	for _, group := range tree().Verbs {
		verbs := group.Verbs
		prefix := []string{group.Name}
		if len(verbs) == 0 {
			verbs, prefix = []*command.Verb{group}, nil
		}
		for _, v := range verbs {
			words := append(prefix[:len(prefix):len(prefix)], v.Name)
			line := synopsis(manual, "cpdb "+strings.Join(words, " "))
			if line == "" {
				t.Errorf("%v is not in the manual", words)
				continue
			}
			compareFlags(t, words, line)
		}
	}
}

// synopsis gives the manual's line for a verb, "" if there is none.
func synopsis(manual, verb string) string {
	for line := range strings.Lines(manual) {
		if strings.HasPrefix(line, "//\t"+verb+" ") && !strings.HasSuffix(line, "|\n") {
			return line
		}
	}
	return ""
}

func compareFlags(t *testing.T, words []string, line string) {
	t.Helper()
	var help bytes.Buffer
	stdio := command.IO{In: strings.NewReader(""), Out: &help, Err: os.Stderr}
	if code := command.Run(context.Background(), tree(), append(words, "-h"), stdio); code != 0 {
		t.Fatalf("%v -h: exit status %d", words, code)
	}
	_, own, _ := strings.Cut(help.String(), "\nflags:\n")
	own, _, _ = strings.Cut(own, "\nglobal flags:")
	for _, text := range []string{line, own} {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" []|\n", r) }) {
			name, _, _ := strings.Cut(word, "=")
			if strings.HasPrefix(name, "--") && !(strings.Contains(line, name) && strings.Contains(own, name)) {
				t.Errorf("%v: %s is not both in the manual and in -h", words, name)
			}
		}
	}
}
