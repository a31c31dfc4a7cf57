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

// TestManual holds the synopsis in the package comment to the flags that there are.
func TestManual(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	synopsis, _, _ := strings.Cut(string(source), "// A is the tree")
	flags := regexp.MustCompile(`--[a-z-]+`)
	have := slices.Compact(slices.Sorted(slices.Values(flags.FindAllString(synopsis, -1))))
	var help bytes.Buffer
	for _, args := range [][]string{{"-h"}, {"apply", "-h"}, {"show", "-h"}, {"blame", "-h"}, {"pack", "-h"}, {"unpack", "-h"}} {
		command.Run(context.Background(), root(), args, command.IO{Out: &help, Err: &help})
	}
	var want []string
	for _, line := range regexp.MustCompile(`(?m)^  (-h, )?(--[a-z-]+)`).FindAllStringSubmatch(help.String(), -1) {
		if line[2] != "--help" && line[2] != "--version" {
			want = append(want, line[2])
		}
	}
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(slices.DeleteFunc(have, func(s string) bool { return s == "--" }), want) {
		t.Errorf("the manual has %v, -h has %v", have, want)
	}
}
