package stage

import (
	"os"
	"strings"
	"sync"
	"testing"

	"agentfs.internal/bandclone/internal/dir"
)

func open(t *testing.T) *dir.Dir {
	t.Helper()
	d, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func names(t *testing.T, d *dir.Dir) string {
	t.Helper()
	list, err := d.Names(func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " ")
}

// TestSweep removes what the dead have left, and nothing else.
func TestSweep(t *testing.T) {
	d := open(t)
	s, err := New(d, ".v1", d.Mkdir)
	if err != nil {
		t.Fatal(err)
	}
	const dead = "0123456789abcdef"
	for _, name := range []string{".v2.tmp-" + dead, ".trash-" + dead, ".v3.tmp-short", ".other.tmp-" + dead, "v4"} {
		if err := d.Mkdir(name); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.Path(name+"/0"), nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(d.Path(".trash-fedcba9876543210"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(d, ".", `\.v\d+`); err == nil {
		t.Error("a file under a trash name is none of ours: want an error")
	}
	for _, gone := range []string{".v2.tmp-" + dead, ".trash-" + dead} {
		if there, _ := d.Exists(gone); there {
			t.Errorf("%s is left", gone)
		}
	}
	for _, kept := range []string{s.name, ".v3.tmp-short/0", ".other.tmp-" + dead + "/0", "v4/0"} {
		if there, _ := d.Exists(kept); !there {
			t.Errorf("%s is gone", kept)
		}
	}
	s.Discard()
	if there, _ := d.Exists(s.name); there {
		t.Error("discard left it")
	}
}

// TestAbandoned publishes a directory that a sweep has opened already.
func TestAbandoned(t *testing.T) {
	parent := open(t)
	s, err := New(parent, ".v1", parent.Mkdir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := parent.Open(s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if dead, err := abandoned(parent, s.name, d); dead || err != nil {
		t.Errorf("its maker lives: abandoned %v (%v)", dead, err)
	}
	if err := s.Publish("v1"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if dead, err := abandoned(parent, s.name, d); dead || err != nil {
		t.Errorf("it is published: abandoned %v (%v)", dead, err)
	}
}

// TestSweepPublished sweeps while others publish: no published directory is
// taken for a leftover, and no maker fails.
func TestSweepPublished(t *testing.T) {
	d := open(t)
	stop := make(chan struct{})
	var sweeper, makers sync.WaitGroup
	sweeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := Sweep(d, ".", `\.v\d+`); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for m := range 4 {
		makers.Go(func() {
			for i := range 50 {
				publish(t, d, string(rune('a'+m))+string(rune('a'+i%25))+string(rune('a'+i/25)))
			}
		})
	}
	makers.Wait()
	close(stop)
	sweeper.Wait()
	if n := len(strings.Fields(names(t, d))); n != 200 {
		t.Errorf("%d directories, want 200", n)
	}
}

func publish(t *testing.T, parent *dir.Dir, name string) {
	s, err := New(parent, ".v1", parent.Mkdir)
	if err != nil {
		t.Error(err)
		return
	}
	if err := os.WriteFile(s.Path("0"), nil, 0o400); err != nil {
		t.Error(err)
	}
	if err := s.Publish(name); err != nil {
		t.Error(err)
	}
	s.Close()
	if there, err := parent.Exists(name + "/0"); !there {
		t.Errorf("%s is empty (%v)", name, err)
	}
}

func TestVersion(t *testing.T) {
	for name, want := range map[string]uint64{"v1": 1, "v10": 10} {
		if got, ok := Version(name); !ok || got != want {
			t.Errorf("%s: %d %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "v", "v0", "v01", "1", "v-1", "v1x", "v99999999999999999999", "latest"} {
		if _, ok := Version(name); ok {
			t.Errorf("%q is no version", name)
		}
	}
}

func TestRepoint(t *testing.T) {
	d := open(t)
	for _, name := range []string{"v2", "v10", "v3"} {
		if err := d.Mkdir(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(d.Path("v99"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"v10", "v3", "v2", ""} {
		if err := Repoint(d); err != nil {
			t.Fatal(err)
		}
		if got, _ := d.Readlink(Latest); got != want {
			t.Errorf("latest: %q, want %q", got, want)
		}
		if want != "" {
			if err := d.Rmdir(want); err != nil {
				t.Fatal(err)
			}
		}
	}
}
