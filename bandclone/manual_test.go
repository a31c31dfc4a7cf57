package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agentfs.internal/tool/command"
)

// TestManual holds the synopsis in the package comment to the verbs and flags
// that there are.
func TestManual(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	manual := map[string][]string{}
	synopsis, _, _ := strings.Cut(string(source), "// The bands of")
	flags := regexp.MustCompile(`--[a-z]+`)
	for _, line := range regexp.MustCompile(`(?m)^//\tbandclone (\w+) (.*)$`).FindAllStringSubmatch(synopsis, -1) {
		manual[line[1]] = append(manual[line[1]], flags.FindAllString(line[2], -1)...)
	}
	for _, verb := range root().Verbs {
		var help bytes.Buffer
		command.Run(context.Background(), root(), []string{verb.Name, "-h"}, command.IO{Out: &help, Err: &help})
		_, list, _ := strings.Cut(help.String(), "\nflags:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		want := []string{}
		for _, line := range strings.Split(list, "\n") {
			want = append(want, flags.FindAllString(line[:min(len(line), 12)], -1)...)
		}
		have := slices.Compact(slices.Sorted(slices.Values(manual[verb.Name])))
		if slices.Sort(want); !slices.Equal(have, want) {
			t.Errorf("%s: the manual has %v, -h has %v", verb.Name, have, want)
		}
	}
}
