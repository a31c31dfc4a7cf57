package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/scenario"
)

// The scenarios run the real agentfs-hook over a stand-in for agentfs, which notes in
// the file calls where it was run and with which arguments, and answers as the first
// line of the file answers says that its arguments begin as:
//
//	STATUS ARGS… => WHAT
//
// WHAT goes to standard output, for a status other than 0 to standard error. Without a
// line it does nothing and ends well. $WORK is expanded.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agentfs-hook": main,
		"agentfs":      standIn,
	})
}

func TestScenarios(t *testing.T) {
	events, err := filepath.Abs("testdata/events")
	if err != nil {
		t.Fatal(err)
	}
	p := scenario.Params("testdata")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("STANDIN", env.WorkDir)
		env.Setenv("EVENTS", events)
		env.Setenv("AGENTFS_HOME", filepath.Join(env.WorkDir, "af"))
		return setup(env)
	}
	testscript.Run(t, p)
}

func standIn() {
	work := os.Getenv("STANDIN")
	here, err := os.Getwd()
	check(err)
	words := []string{strings.TrimPrefix(here, work+"/") + "$"}
	for _, arg := range os.Args[1:] {
		if strings.ContainsAny(arg, " \n\"") || arg == "" {
			arg = strconv.Quote(arg)
		}
		words = append(words, arg)
	}
	calls, err := os.OpenFile(filepath.Join(work, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(err)
	_, err = fmt.Fprintln(calls, strings.Join(words, " "))
	check(err)
	text, _ := os.ReadFile(filepath.Join(work, "answers"))
	line := strings.Join(os.Args[1:], " ")
	for answer := range strings.Lines(strings.ReplaceAll(string(text), "$WORK", work)) {
		head, what, ok := strings.Cut(strings.TrimSpace(answer), " =>")
		code, begin, _ := strings.Cut(head, " ")
		if ok && strings.HasPrefix(line+" ", begin+" ") {
			give(code, strings.TrimSpace(what))
		}
	}
}

func give(code, what string) {
	out := os.Stdout
	if code != "0" {
		out = os.Stderr
	}
	if what != "" {
		fmt.Fprintln(out, strings.ReplaceAll(what, `\n`, "\n"))
	}
	status, err := strconv.Atoi(code)
	check(err)
	os.Exit(status)
}

func check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "standin: %v\n", err)
		os.Exit(99)
	}
}

// The package comment is the manual page: what -h shows must stand in it.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(text), "\npackage main")
	for _, v := range tree().Verbs {
		var help bytes.Buffer
		command.Run(t.Context(), tree(), []string{v.Name, "-h"}, command.IO{Out: &help, Err: io.Discard})
		_, after, _ := strings.Cut(comment, "agentfs-hook "+v.Name+" "+v.Args)
		synopsis, _, _ := strings.Cut(after, "\n")
		own, _, _ := strings.Cut(help.String(), "global flags:")
		for line := range strings.Lines(own) {
			flag, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(flag, "--") && !strings.Contains(synopsis, flag) {
				t.Errorf("the manual of %s lacks %s", v.Name, flag)
			}
		}
		if synopsis == "" {
			t.Errorf("the manual lacks %s %s", v.Name, v.Args)
		}
	}
}
