// Package standin is a program that looks like hdiutil to the driver, for tests
// on systems that have none. It attaches nothing: it remembers what it was told,
// answers as hdiutil does, and fails on demand.
//
//	HDIUTIL_LOG=FILE         one JSON line a call: {"args":["attach","-plist",…]}
//	HDIUTIL_STATE=FILE       what is attached; default: HDIUTIL_LOG with .state behind it
//	HDIUTIL_FAIL=V:N[:T] …   the verb V exits with status N, T times, else always
//	HDIUTIL_UNMOUNTS=1       a failing detach unmounts the volume all the same
//	HDIUTIL_WARN=TEXT        a line in front of each property list
//	HDIUTIL_ORDER=reverse    entities in the other order
//	HDIUTIL_PRIVATE=1        paths come back with /private in front
//	HDIUTIL_FOREIGN=1        other people's images are attached too
//	HDIUTIL_NOMOUNT=1        attach mounts nothing
//	HDIUTIL_MOUNTS_AT=PATH   attach mounts there, whatever it was told
//	HDIUTIL_VERSION2=1       create makes a bundle of the newer format
package standin

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Main is the program.
func Main() {
	p := &program{args: os.Args[1:]}
	p.log()
	p.load()
	code := p.run()
	p.save()
	os.Exit(code)
}

// program is one call of it.
type program struct {
	args  []string
	state state
}

// state is what outlives a call.
type state struct {
	Next     int            // the number of the next disk
	Disks    []attached     //
	Failures map[string]int // how often a verb has failed on demand
}

// attached is an image with its disks: Number, and the container at Number+1.
type attached struct {
	Path   string
	Mount  string // "" where nothing is mounted
	Number int
}

// fail ends a call as hdiutil ends one.
type fail struct {
	code int
	text string
}

func (p *program) run() (code int) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case fail:
			fmt.Fprintf(os.Stderr, "hdiutil: %s\n", f.text)
			code = f.code
		default:
			panic(f)
		}
	}()
	verbs := map[string]func(){
		"create": p.create, "attach": p.attach, "detach": p.detach,
		"info": p.info, "compact": p.compact, "resize": p.resize,
	}
	if len(p.args) == 0 || verbs[p.args[0]] == nil {
		panic(fail{1, "verb not recognized"})
	}
	p.failOnDemand()
	verbs[p.args[0]]()
	return 0
}

// errnos are the words for the exit statuses that tests ask for.
var errnos = map[int]string{1: "Operation not permitted", 16: "Resource busy", 28: "No space left on device", 35: "Resource temporarily unavailable"}

func (p *program) failOnDemand() {
	verb := p.args[0]
	for rule := range strings.FieldsSeq(os.Getenv("HDIUTIL_FAIL")) {
		name, rest, _ := strings.Cut(rule, ":")
		code, times := 0, 1<<30
		if n, _ := fmt.Sscanf(rest, "%d:%d", &code, &times); n < 1 || name != verb || p.state.Failures[verb] >= times {
			continue
		}
		p.state.Failures[verb]++
		panic(fail{code, p.complaint(verb, errnos[code])})
	}
}

// complaint is a failing verb's line, and what a detach does before it fails.
func (p *program) complaint(verb, why string) string {
	if verb != "detach" {
		return fmt.Sprintf("%s failed - %s", verb, why)
	}
	d := p.find(p.args[len(p.args)-1])
	if d == nil {
		return "detach failed - No such file or directory"
	}
	if os.Getenv("HDIUTIL_UNMOUNTS") == "" {
		return fmt.Sprintf("couldn't unmount \"disk%d\" - %s", d.Number, why)
	}
	d.Mount = ""
	fmt.Printf("\"disk%d\" unmounted.\n", d.Number)
	return fmt.Sprintf("couldn't eject \"disk%d\" - %s", d.Number, why)
}

func (p *program) log() {
	path := os.Getenv("HDIUTIL_LOG")
	if path == "" {
		return
	}
	line, err := json.Marshal(map[string][]string{"args": p.args})
	check(err)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	check(err)
	_, err = f.Write(append(line, '\n'))
	check(err)
	check(f.Close())
}

func statePath() string {
	if path := os.Getenv("HDIUTIL_STATE"); path != "" {
		return path
	}
	return os.Getenv("HDIUTIL_LOG") + ".state"
}

func (p *program) load() {
	p.state = state{Next: 4, Failures: map[string]int{}}
	data, err := os.ReadFile(statePath())
	if os.IsNotExist(err) {
		return
	}
	check(err)
	check(json.Unmarshal(data, &p.state))
}

func (p *program) save() {
	data, err := json.Marshal(p.state)
	check(err)
	check(os.WriteFile(statePath(), data, 0o600))
}

// check is for what no test provokes.
func check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "hdiutil stand-in: %v\n", err)
		os.Exit(99)
	}
}
