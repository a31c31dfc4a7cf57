package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"

	"agentfs.internal/tool/status"
)

// tool is a command tree like agentfs'.
func testTool(out *string) *Verb {
	var store, message string
	var force, auto bool
	say := func(path string) func(context.Context, IO, []string) error {
		return func(_ context.Context, _ IO, args []string) error {
			*out = fmt.Sprintf("%s store=%s force=%v auto=%v message=%s args=%q", path, store, force, auto, message, args)
			return nil
		}
	}
	return &Verb{
		Name: "agentfs", Short: "Checkpoints.", Env: "TESTFS",
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&store, "store", "", "`name` of the store")
			fs.BoolVar(&force, "force", false, "do not ask")
			Alias(fs, "f", "force")
		},
		Verbs: []*Verb{
			{Name: "restore", Args: "VERSION", Short: "bring a checkpoint back", Min: 1, Max: 1, Run: say("restore")},
			{Name: "checkpoint", Short: "checkpoints", Run: say("checkpoint"),
				Flags: func(fs *flag.FlagSet) { fs.BoolVar(&auto, "auto", false, "be quiet") },
				Verbs: []*Verb{
					{Name: "create", Args: "[MESSAGE]", Short: "make one", Max: 1, Run: say("create"),
						Flags: func(fs *flag.FlagSet) { fs.StringVar(&message, "message", "", "`text`") }},
				}},
			{Name: "log", Short: "log", Own: true, Run: say("log"),
				Flags: func(fs *flag.FlagSet) { fs.BoolVar(&auto, "brief", false, "be brief") },
				Verbs: []*Verb{{Name: "clear", Short: "clear", Run: say("clear")}}},
			{Name: "run", Args: "-- CMD", Short: "run", Min: 1, Max: -1, Run: say("run")},
			{Name: "secret", Short: "hidden", Hidden: true, Run: say("secret")},
		},
	}
}

func runTest(args ...string) (code int, ran, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(context.Background(), testTool(&ran), args, IO{strings.NewReader(""), &out, &errs})
	return code, ran, out.String(), errs.String()
}

func TestFlagsAnywhere(t *testing.T) {
	want := `restore store=x force=true auto=false message= args=["v3"]`
	for _, line := range []string{
		"restore v3 -f --store x", "-f restore --store=x v3", "--store x restore v3 --force",
		"restore -store x -f -- v3", "--force=true --store x restore v3",
	} {
		if code, ran, _, stderr := runTest(strings.Fields(line)...); code != 0 || ran != want {
			t.Errorf("%s: status %d, %s %s", line, code, ran, stderr)
		}
	}
}

func TestVerbs(t *testing.T) {
	for line, want := range map[string]string{
		"checkpoint --auto":                   `checkpoint store= force=false auto=true message= args=[]`,
		"checkpoint create a":                 `create store= force=false auto=false message= args=["a"]`,
		"checkpoint create --message m -f":    `create store= force=true auto=false message=m args=[]`,
		"run -- ls -l --store":                `run store= force=false auto=false message= args=["ls" "-l" "--store"]`,
		"run a -- -f":                         `run store= force=false auto=false message= args=["a" "-f"]`,
		"secret":                              `secret store= force=false auto=false message= args=[]`,
		"checkpoint create -":                 `create store= force=false auto=false message= args=["-"]`,
		"checkpoint create --message=-x --":   `create store= force=false auto=false message=-x args=[]`,
		"checkpoint create --store restore b": `create store=restore force=false auto=false message= args=["b"]`,
	} {
		if code, ran, _, stderr := runTest(strings.Fields(line)...); code != 0 || ran != want {
			t.Errorf("%s: status %d, %s %s", line, code, ran, stderr)
		}
	}
}

func TestMisuse(t *testing.T) {
	for line, want := range map[string]string{
		"":                         "agentfs: needs a verb\nhint: agentfs -h\n",
		"restor v3":                "agentfs: unknown verb \"restor\"\nhint: did you mean 'agentfs restore'?\n",
		"zzz":                      "agentfs: unknown verb \"zzz\"\nhint: agentfs -h\n",
		"restore":                  "agentfs: restore: needs VERSION\nhint: agentfs restore -h\n",
		"restore v1 v2":            "agentfs: restore: unexpected argument \"v2\"\nhint: agentfs restore -h\n",
		"restore v1 --stroe x":     "agentfs: restore: unknown flag --stroe\nhint: did you mean --store?\n",
		"restore v1 --store":       "agentfs: restore: --store needs a value\nhint: agentfs restore -h\n",
		"checkpoint craete":        "agentfs: checkpoint: unknown verb \"craete\"\nhint: did you mean 'agentfs checkpoint create'?\n",
		"restore v1 --force=maybe": "agentfs: invalid boolean value \"maybe\" for -force: parse error\nhint: agentfs -h\n",
	} {
		code, ran, stdout, stderr := runTest(strings.Fields(line)...)
		if code != status.Usage || stderr != want || ran != "" || stdout != "" {
			t.Errorf("%s: status %d, ran %q, said %q%q; want %q", line, code, ran, stdout, stderr, want)
		}
	}
}

func TestFlagsOfOneVerbAlone(t *testing.T) {
	if code, ran, _, _ := runTest("log", "--brief"); code != 0 || !strings.Contains(ran, "auto=true") {
		t.Errorf("log --brief: status %d, %s", code, ran)
	}
	for line, want := range map[string]string{
		"log clear --brief": "unknown flag --brief",
		"log --brief clear": "flag --brief belongs to agentfs log alone",
	} {
		if code, ran, _, stderr := runTest(strings.Fields(line)...); code != 2 || ran != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s %s", line, code, ran, stderr)
		}
	}
	if _, _, stdout, _ := runTest("log", "clear", "-h"); strings.Contains(stdout, "brief") {
		t.Errorf("help of log clear names --brief:\n%s", stdout)
	}
}

func TestHelp(t *testing.T) {
	for _, line := range []string{"-h", "checkpoint -h", "restore v1 --help"} {
		code, ran, stdout, stderr := runTest(strings.Fields(line)...)
		if code != 0 || ran != "" || stderr != "" || !strings.HasPrefix(stdout, "usage: agentfs") {
			t.Errorf("%s: status %d, ran %q, %q %q", line, code, ran, stdout, stderr)
		}
		if strings.Contains(stdout, "secret") || strings.Contains(stdout, "alias") {
			t.Errorf("%s shows what is hidden:\n%s", line, stdout)
		}
	}
	if _, _, stdout, _ := runTest("-h"); !strings.Contains(stdout, "-f, --force") || !strings.Contains(stdout, "  create [MESSAGE]") {
		t.Errorf("the manual lacks an alias or a verb below a verb:\n%s", stdout)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("TESTFS_STORE", "fromenv")
	if _, ran, _, _ := runTest("restore", "v1"); !strings.Contains(ran, "store=fromenv") {
		t.Errorf("ran %s", ran)
	}
	if _, ran, _, _ := runTest("restore", "v1", "--store", "x"); !strings.Contains(ran, "store=x") {
		t.Errorf("ran %s", ran)
	}
}

// FuzzRun: whatever the arguments, a verb runs or a usage error says why.
func FuzzRun(f *testing.F) {
	for _, s := range []string{"restore\x00v3\x00-f", "--\x00x", "-", "--=", "-h", "checkpoint\x00--auto=1", "--store"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		code, ran, stdout, stderr := runTest(strings.Split(line, "\x00")...)
		switch {
		case code == 0 && ran == "" && stdout == "":
			t.Errorf("%q: nothing happened", line)
		case code != 0 && (code != status.Usage || stderr == "" || ran != ""):
			t.Errorf("%q: status %d, ran %q, said %q", line, code, ran, stderr)
		}
	})
}
