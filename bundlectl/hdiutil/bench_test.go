package hdiutil

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/bundlectl/hdiutil/standin"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// TestMain puts the stand-in on the PATH as hdiutil.
func TestMain(m *testing.M) {
	pauses = slices.Repeat([]time.Duration{time.Millisecond}, 4)
	testscript.Main(m, map[string]func(){"hdiutil": standin.Main})
}

// bench is a place with a bundle in it and the stand-in told to log there.
type bench struct {
	*testing.T
	log, bundle, mount string
	e                  engine.Engine
}

func newBench(t *testing.T, env ...string) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{T: t, log: filepath.Join(dir, "log"), bundle: filepath.Join(dir, "my app.sparsebundle"),
		mount: filepath.Join(dir, "mnt"), e: Engine{}}
	t.Setenv("HDIUTIL_LOG", b.log)
	if _, err := b.e.Create(t.Context(), b.bundle, engine.CreateParams{
		Size: 50 << 30, UID: os.Getuid(), GID: os.Getgid()}); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(env); i += 2 {
		t.Setenv(env[i], env[i+1])
	}
	return b
}

// calls are the logged calls of a verb, each as one line.
func (b *bench) calls(verb string) []string {
	b.Helper()
	data, err := os.ReadFile(b.log)
	if err != nil {
		b.Fatal(err)
	}
	list := []string{}
	for line := range strings.Lines(string(data)) {
		var call struct{ Args []string }
		if err := json.Unmarshal([]byte(line), &call); err != nil {
			b.Fatal(err)
		}
		if call.Args[0] == verb {
			list = append(list, strings.Join(call.Args, " "))
		}
	}
	return list
}

func (b *bench) attach() *record.Image {
	b.Helper()
	img, err := b.e.Attach(b.Context(), b.bundle, b.mount)
	if err != nil {
		b.Fatal(err)
	}
	return img
}

func (b *bench) list() []record.Image {
	b.Helper()
	list, err := b.e.List(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// fails wants one line with want in it, an exit status, and a hint or none.
func (b *bench) fails(err error, code int, want, hint string) {
	b.Helper()
	if err == nil {
		b.Fatalf("no error, want %q", want)
	}
	if msg := err.Error(); !strings.Contains(msg, want) || strings.Contains(msg, "\n") {
		b.Errorf("error %q, want %q in it", msg, want)
	}
	if got := status.Of(err); got != code {
		b.Errorf("exit status %d of %v, want %d", got, err, code)
	}
	if got := status.HintOf(err); got != hint {
		b.Errorf("hint %q, want %q", got, hint)
	}
}
