//go:build linux

package testscripts

import (
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// volatile is what differs from run to run.
var volatile = []struct {
	old  *regexp.Regexp
	want string
}{
	{regexp.MustCompile(`\(\d+ms\)`), "(1ms)"},
	{regexp.MustCompile(`\b(\d+[smhd] ago|just now)\b`), "1s ago"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?`), "2026-01-27 10:32:15"},
}

func steady(text string) string {
	for _, v := range volatile {
		text = v.old.ReplaceAllString(text, v.want)
	}
	return text
}

func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shows FILE")
	}
	have, want := steady(ts.ReadFile("stdout")), steady(os.Expand(ts.ReadFile(args[0]), ts.Getenv))
	if have != want {
		ts.Fatalf("%s: want\n%s", args[0], want)
	}
}

func usage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: usage TOOL")
	}
	if _, err := ts.Stdout().Write([]byte(helpOf(ts, args))); err != nil {
		ts.Fatalf("%v", err)
	}
}

// helpOf gives -h of a verb and of all below it, which it finds in the list that
// -h shows: two levels, the lower one indented by two more.
func helpOf(ts *testscript.TestScript, verb []string) string {
	out, err := exec.Command(verb[0], append(verb[1:len(verb):len(verb)], "-h")...).CombinedOutput()
	if err != nil {
		ts.Fatalf("%s -h: %v\n%s", strings.Join(verb, " "), err, out)
	}
	text := "$ " + strings.Join(verb, " ") + " -h\n" + string(out) + "\n"
	_, list, _ := strings.Cut(string(out), "\nverbs:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if name := strings.Fields(line)[0]; !strings.HasPrefix(line, "    ") {
			text += helpOf(ts, append(verb[:len(verb):len(verb)], name))
		}
	}
	return text
}
