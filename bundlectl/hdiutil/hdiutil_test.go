package hdiutil

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func TestLifecycle(t *testing.T) {
	b := newBench(t, "HDIUTIL_FOREIGN", "1")
	if got := b.list(); got == nil || len(got) != 0 {
		t.Errorf("attached before: %v, want an empty list", got)
	}
	img := b.attach()
	want := record.Image{BundlePath: b.bundle, SizeBytes: 50 << 30, BandSize: BandSize, Bands: 3, Bytes: img.Bytes,
		Attached: true, Device: "/dev/disk5s1", MountPath: b.mount}
	if *img != want || img.Bytes == 0 {
		t.Errorf("attached: %+v\nwant: %+v", *img, want)
	}
	if got := b.list(); len(got) != 1 || got[0] != want {
		t.Errorf("list: %+v\nwant: %+v", got, want)
	}
	img, err := b.e.Detach(t.Context(), b.bundle)
	want.Attached, want.Device, want.MountPath = false, "", ""
	if err != nil || *img != want {
		t.Errorf("detached: %+v, %v\nwant: %+v", img, err, want)
	}
	if got := b.calls("detach"); !slices.Equal(got, []string{"detach /dev/disk4"}) {
		t.Errorf("calls %q, want one, of the whole disk", got)
	}
	_, err = b.e.Detach(t.Context(), b.bundle)
	b.fails(err, status.Mount, "not attached", "")
}

func TestArguments(t *testing.T) {
	b := newBench(t)
	b.attach()
	create := b.calls("create")[0]
	before, path, _ := strings.Cut(create, filepath.Dir(b.bundle))
	if before != "create -plist -size 51200m -type SPARSEBUNDLE -fs APFS -volname my app -imagekey sparse-band-size=16384 " {
		t.Errorf("call %q", create)
	}
	if !strings.HasPrefix(path, "/.create-") || !strings.HasSuffix(path, "/my app.sparsebundle") {
		t.Errorf("made at %q, want a place of its own", path)
	}
	want := "attach -plist -mountpoint " + b.mount + " -nobrowse -owners on -noverify -noautofsck " + b.bundle
	if got := b.calls("attach"); !slices.Equal(got, []string{want}) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

func TestCreate(t *testing.T) {
	b := newBench(t)
	other := filepath.Join(filepath.Dir(b.bundle), "other.sparsebundle")
	img, err := b.e.Create(t.Context(), other, engine.CreateParams{
		Size: 1<<30 + 1, BandSize: 1 << 20, UID: 4242, GID: 4243, VolName: "Volume"})
	if err != nil || img.BundlePath != other || img.SizeBytes != 1<<30+1<<20 || img.BandSize != 1<<20 || img.Attached {
		t.Errorf("image %+v, %v", img, err)
	}
	call := b.calls("create")[1]
	if !strings.Contains(call, "-volname Volume -imagekey sparse-band-size=2048 -uid 4242 -gid 4243 ") {
		t.Errorf("call %q", call)
	}
	if st, err := os.Stat(other); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestCreateRefuses(t *testing.T) {
	b := newBench(t)
	ok := engine.CreateParams{Size: 1 << 30}
	for _, tt := range []struct {
		path, err string
		p         engine.CreateParams
		env       [2]string
	}{
		{b.bundle, "file already exists", ok, [2]string{}},
		{"x.dmg", "does not end in .sparsebundle", ok, [2]string{}},
		{"x.sparsebundle", "size 0 is not positive", engine.CreateParams{}, [2]string{}},
		{"x.sparsebundle", "multiple of 4096", engine.CreateParams{Size: 1, BandSize: 512}, [2]string{}},
		{"no/such/x.sparsebundle", "no such file", ok, [2]string{}},
		{"x.sparsebundle", "hdiutil: create failed - No space left on device", ok, [2]string{"HDIUTIL_FAIL", "create:28"}},
		{"x.sparsebundle", "version 2 bundle", ok, [2]string{"HDIUTIL_VERSION2", "1"}},
	} {
		t.Run(tt.err, func(t *testing.T) {
			if tt.env[0] != "" {
				t.Setenv(tt.env[0], tt.env[1])
			}
			path := tt.path
			if !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(b.bundle), path)
			}
			_, err := b.e.Create(t.Context(), path, tt.p)
			b.fails(err, status.General, tt.err, "")
		})
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(b.bundle), "*.sparsebundle"))
	hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(b.bundle), ".create-*"))
	if err != nil || len(left) != 1 || len(hidden) != 0 {
		t.Errorf("left behind: %q %q, %v", left, hidden, err)
	}
}

// TestRetries has each verb come upon a bad time twice, and then succeed.
func TestRetries(t *testing.T) {
	b := newBench(t, "HDIUTIL_FAIL", "info:35:2 create:16:2 attach:35:2 detach:16:2 compact:35:1 resize:16:1")
	ctx := t.Context()
	b.attach()
	if _, err := b.e.Detach(ctx, b.bundle); err != nil {
		t.Error(err)
	}
	if _, err := b.e.Compact(ctx, b.bundle); err != nil {
		t.Error(err)
	}
	if _, err := b.e.Resize(ctx, b.bundle, 60<<30); err != nil {
		t.Error(err)
	}
	for verb, want := range map[string]int{"attach": 3, "detach": 3, "compact": 2, "resize": 2} {
		if got := len(b.calls(verb)); got != want {
			t.Errorf("%d calls of %s, want %d", got, verb, want)
		}
	}
}

func TestQuiesce(t *testing.T) {
	b := newBench(t)
	ran := 0
	err := b.e.Quiesce(t.Context(), b.bundle, func() error { ran++; return nil })
	b.fails(err, status.Mount, "not attached", "")
	b.attach()
	want := errors.New("mine")
	if err := b.e.Quiesce(t.Context(), b.bundle, func() error { ran++; return want }); err != want || ran != 1 {
		t.Errorf("error %v after %d runs, want its own after 1", err, ran)
	}
}

func TestCompactAndResize(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	img, err := b.e.Resize(ctx, b.bundle, 60<<30)
	if err != nil || img.SizeBytes != 60<<30 {
		t.Errorf("resized: %+v, %v", img, err)
	}
	_, err = b.e.Resize(ctx, b.bundle, 1<<30)
	b.fails(err, status.General, "it can only grow", "")
	if got := b.calls("resize"); !slices.Equal(got, []string{"resize -size 61440m " + b.bundle}) {
		t.Errorf("calls %q", got)
	}
	if img, err := b.e.Compact(ctx, b.bundle); err != nil || img.Bands != 3 {
		t.Errorf("compacted: %+v, %v", img, err)
	}
	if got := b.calls("compact"); !slices.Equal(got, []string{"compact " + b.bundle + " -batteryallowed"}) {
		t.Errorf("calls %q", got)
	}
	b.attach()
	hint := "bundlectl detach '" + b.bundle + "'"
	_, err = b.e.Compact(ctx, b.bundle)
	b.fails(err, status.Mount, `attached at "`+b.mount, hint)
	_, err = b.e.Resize(ctx, b.bundle, 70<<30)
	b.fails(err, status.Mount, `attached at "`+b.mount, hint)
}

func TestMissingHdiutil(t *testing.T) {
	b := newBench(t)
	if err := b.e.Check(t.Context()); err != nil {
		t.Errorf("check with it there: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	const hint = "it is a part of macOS, in /usr/bin: is that in PATH?"
	b.fails(b.e.Check(t.Context()), status.CannotRun, "hdiutil: not found", hint)
	_, err := b.e.Attach(t.Context(), b.bundle, b.mount)
	b.fails(err, status.CannotRun, "hdiutil: not found", hint)
	_, err = b.e.Create(t.Context(), b.mount+".sparsebundle", engine.CreateParams{Size: 1 << 30})
	b.fails(err, status.CannotRun, "hdiutil: not found", hint)
	_, err = b.e.List(t.Context())
	b.fails(err, status.CannotRun, "hdiutil: not found", hint)
}
