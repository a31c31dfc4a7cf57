package hdiutil

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentfs.internal/tool/status"
)

func TestBusyDetach(t *testing.T) {
	b := newBench(t, "HDIUTIL_FAIL", "detach:16")
	b.attach()
	_, err := b.e.Detach(t.Context(), b.bundle)
	b.fails(err, status.Mount, `my app.sparsebundle": mount "`+b.mount+`" is busy: hdiutil: couldn't unmount "disk4" - Resource busy`, "lsof "+b.mount)
	if got := len(b.calls("detach")); got != 5 {
		t.Errorf("%d tries, want 5", got)
	}
	if got := b.list(); len(got) != 1 || got[0].MountPath != b.mount {
		t.Errorf("attached after: %+v, want it as it was", got)
	}
	if calls := strings.Join(b.calls("detach"), "\n"); strings.Contains(calls, "-force") {
		t.Errorf("forced: %s", calls)
	}
}

// TestHalfDetached has a detach unmount the volume and stop there. The next
// attach clears that away.
func TestHalfDetached(t *testing.T) {
	b := newBench(t, "HDIUTIL_FAIL", "detach:16:5", "HDIUTIL_UNMOUNTS", "1")
	b.attach()
	_, err := b.e.Detach(t.Context(), b.bundle)
	b.fails(err, status.Mount, `unmounted, but /dev/disk4 stays attached: hdiutil: couldn't eject "disk4" - Resource busy`, "hdiutil detach /dev/disk4")
	if got := b.list(); len(got) != 1 || got[0].MountPath != "" || got[0].Device != "/dev/disk4" {
		t.Errorf("attached after: %+v", got)
	}
	if img := b.attach(); img.Device != "/dev/disk7s1" {
		t.Errorf("attached again as %+v, want a new disk", img)
	}
}

func TestFailedDetach(t *testing.T) {
	b := newBench(t, "HDIUTIL_FAIL", "detach:1")
	b.attach()
	_, err := b.e.Detach(t.Context(), b.bundle)
	b.fails(err, status.Mount, "Operation not permitted", "")
	if got := len(b.calls("detach")); got != 1 {
		t.Errorf("%d tries of what cannot pass, want 1", got)
	}
}

func TestDetachByMountpoint(t *testing.T) {
	b := newBench(t, "HDIUTIL_PRIVATE", "1")
	b.attach()
	img, err := b.e.Detach(t.Context(), b.mount)
	if err != nil || img.BundlePath != b.bundle || img.Attached {
		t.Errorf("%+v, %v", img, err)
	}
}

// TestSpellings has hdiutil answer with everything that varies.
func TestSpellings(t *testing.T) {
	b := newBench(t, "HDIUTIL_PRIVATE", "1", "HDIUTIL_ORDER", "reverse", "HDIUTIL_FOREIGN", "1",
		"HDIUTIL_WARN", "2026-11-20 10:00:00.000 hdiutil[417:5291] warning: <something> is deprecated")
	img := b.attach()
	if img.Device != "/dev/disk5s1" || img.MountPath != b.mount {
		t.Errorf("attached as %+v", img)
	}
	if got := b.list(); len(got) != 1 || got[0] != *img {
		t.Errorf("list %+v, want %+v", got, img)
	}
	_, err := b.e.Attach(t.Context(), b.bundle, b.mount+"2")
	b.fails(err, status.Mount, `already attached at "/private`+b.mount, "bundlectl detach /private"+b.mount)
	if _, err := b.e.Detach(t.Context(), b.bundle); err != nil {
		t.Error(err)
	}
	if got := b.calls("detach"); !slices.Equal(got, []string{"detach /dev/disk4"}) {
		t.Errorf("calls %q", got)
	}
}

func TestAttachRefuses(t *testing.T) {
	b := newBench(t)
	full := filepath.Join(filepath.Dir(b.bundle), "full")
	if err := errors.Join(os.Mkdir(full, 0o700), os.WriteFile(filepath.Join(full, "f"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for mount, want := range map[string]string{
		full:                           `is not empty: it holds "f"`,
		filepath.Join(full, "f"):       "not a directory",
		filepath.Join(full, "no/such"): "no such file",
		filepath.Join(b.bundle, "mnt"): "is inside the bundle",
	} {
		_, err := b.e.Attach(t.Context(), b.bundle, mount)
		b.fails(err, status.Mount, want, "")
	}
	if got := b.calls("attach"); len(got) != 0 {
		t.Errorf("calls %q, want none", got)
	}
	_, err := b.e.Attach(t.Context(), full, b.mount)
	b.fails(err, status.General, "not a sparse bundle", "")
}

// TestFailedAttach wants nothing to be left of it.
func TestFailedAttach(t *testing.T) {
	for _, tt := range []struct{ name, value, err string }{
		{"HDIUTIL_FAIL", "attach:1", "hdiutil: attach failed - Operation not permitted"},
		{"HDIUTIL_FAIL", "attach:35", "hdiutil: attach failed - Resource temporarily unavailable"},
		{"HDIUTIL_NOMOUNT", "1", "attached, but no volume of it is mounted"},
	} {
		t.Run(tt.value, func(t *testing.T) {
			b := newBench(t, tt.name, tt.value)
			_, err := b.e.Attach(t.Context(), b.bundle, b.mount)
			b.fails(err, status.Mount, tt.err, "")
			if got := b.list(); len(got) != 0 {
				t.Errorf("still attached: %+v", got)
			}
			if _, err := os.Lstat(b.mount); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the mountpoint is left: %v", err)
			}
		})
	}
}

// TestOvertakenAttach has somebody else attach the bundle at the same moment,
// elsewhere: that one stays.
func TestOvertakenAttach(t *testing.T) {
	b := newBench(t, "HDIUTIL_MOUNTS_AT", "/Volumes/elsewhere")
	_, err := b.e.Attach(t.Context(), b.bundle, b.mount)
	b.fails(err, status.Mount, `already attached at "/Volumes/elsewhere"`, "")
	if got := b.list(); len(got) != 1 || got[0].MountPath != "/Volumes/elsewhere" {
		t.Errorf("attached after: %+v", got)
	}
}

func TestCancelledAttach(t *testing.T) {
	b := newBench(t, "HDIUTIL_FAIL", "attach:35")
	pauses = []time.Duration{time.Hour}
	defer func() { pauses = slices.Repeat([]time.Duration{time.Millisecond}, 4) }()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := b.e.Attach(ctx, b.bundle, b.mount)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(b.mount); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the mountpoint is left: %v", err)
	}
}
