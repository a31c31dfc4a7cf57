package bundle

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteMakesWhatOthersRead(t *testing.T) {
	info := Info{BandSize: 8388608, Size: 268435456}
	b := newBundle(t, info)
	if b.Info != info || b.FromBackup {
		t.Errorf("opened as %+v", b)
	}
	for name, mode := range map[string]os.FileMode{
		"": os.ModeDir | 0o700, "bands": os.ModeDir | 0o700,
		"Info.plist": 0o600, "Info.bckup": 0o600, "token": 0o600,
	} {
		st, err := os.Stat(filepath.Join(b.Path, name))
		if err != nil || st.Mode() != mode {
			t.Errorf("%q: mode %v, %v, want %v", name, st.Mode(), err, mode)
		}
	}
	for name, size := range map[string]int{"Info.plist": len(info.encode()), "Info.bckup": len(info.encode()), "token": 0} {
		if data, err := os.ReadFile(filepath.Join(b.Path, name)); err != nil || len(data) != size {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(data), err, size)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	ok := Info{BandSize: 4096, Size: 1 << 20}
	for name, tt := range map[string]struct {
		info Info
		err  string
	}{
		"x":                         {ok, "does not end in .sparsebundle"},
		"a.sparsebundle":            {Info{512, 1 << 20}, "multiple of 4096"},
		"b.sparsebundle":            {Info{4096, 0}, "size 0 is not positive"},
		"c.sparsebundle":            {Info{4096, 1000}, "size 1000 is not a multiple of 512"},
		"no/such/dir/.sparsebundle": {ok, "no such file"},
	} {
		path := filepath.Join(dir, name)
		checkError(t, Write(path, tt.info), tt.err)
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", name, err)
		}
	}
	b := newBundle(t, ok)
	checkError(t, Write(b.Path, ok), "file exists")
	if _, err := Open(b.Path); err != nil {
		t.Errorf("the refused write has damaged the bundle: %v", err)
	}
}

func TestOpenFallsBackToTheCopy(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"missing": func(t *testing.T, path string) { remove(t, path) },
		"empty":   func(t *testing.T, path string) { writeTestFile(t, path, nil) },
		"garbage": func(t *testing.T, path string) { writeTestFile(t, path, []byte("\x00\x01")) },
		"a directory": func(t *testing.T, path string) {
			remove(t, path)
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			info := Info{BandSize: 4096, Size: 8192}
			whole := newBundle(t, info)
			damage(t, filepath.Join(whole.Path, "Info.plist"))
			b, err := Open(whole.Path)
			if err != nil || b.Info != info || !b.FromBackup {
				t.Fatalf("opened as %+v, %v", b, err)
			}
			damage(t, filepath.Join(whole.Path, "Info.bckup"))
			if _, err = Open(whole.Path); err == nil {
				t.Fatal("opened without either file")
			}
			checkError(t, err, "Info.plist")
			checkError(t, err, "Info.bckup")
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	info := Info{BandSize: 4096, Size: 8192}
	for name, tt := range map[string]struct {
		make func(t *testing.T, dir string)
		err  string
	}{
		"missing":        {func(t *testing.T, dir string) { removeAll(t, dir) }, "no such file"},
		"a file":         {func(t *testing.T, dir string) { removeAll(t, dir); writeTestFile(t, dir, nil) }, "not a directory"},
		"some directory": {func(t *testing.T, dir string) { removeAll(t, dir); mkdir(t, dir) }, "not a sparse bundle"},
		"no bands":       {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "bands")) }, "bands: no such file"},
		"mapped":         {func(t *testing.T, dir string) { mkdir(t, filepath.Join(dir, "mapped")) }, "version 2 bundle"},
		// A version 2 Info.plist must not be papered over by an older copy.
		"version 2": {func(t *testing.T, dir string) {
			writeTestFile(t, filepath.Join(dir, "Info.plist"), fmt.Appendf(nil, v2Text))
		}, "version 2 bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBundle(t, info)
			tt.make(t, b.Path)
			_, err := Open(b.Path)
			checkError(t, err, tt.err)
		})
	}
}

const v2Text = `<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0">
<dict>
	<key>band-size</key>
	<integer>67108864</integer>
	<key>bundle-backingstore-version</key>
	<integer>2</integer>
	<key>diskimage-bundle-type</key>
	<string>com.apple.diskimage.sparsebundle</string>
	<key>size</key>
	<integer>268435456</integer>
</dict>
</plist>
`

func TestSetSize(t *testing.T) {
	b := newBundle(t, Info{BandSize: 4096, Size: 8192})
	writeTestFile(t, filepath.Join(b.Path, "Info.plist.new"), []byte("of a crash"))
	remove(t, filepath.Join(b.Path, "Info.bckup"))
	if err := b.SetSize(1 << 30); err != nil || b.Info.Size != 1<<30 {
		t.Fatalf("%+v, %v", b.Info, err)
	}
	for _, name := range []string{"Info.plist", "Info.bckup"} {
		info, err := readInfoFile(filepath.Join(b.Path, name))
		if err != nil || info != b.Info {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	checkError(t, b.SetSize(4096), "it can only grow")
	checkError(t, b.SetSize(1<<30+1), "multiple of 512")
	if b.Info.Size != 1<<30 {
		t.Errorf("a refused resize has changed the size to %d", b.Info.Size)
	}
	if entries, err := os.ReadDir(b.Path); err != nil || len(entries) != 4 {
		t.Errorf("entries %v, %v, want 4", entries, err)
	}
}

// TestFixtureV1 opens the first format that was ever shipped: 64 KiB in bands of
// 4 KiB; 0 full, 3 short, a and f full; 03 is no band's name.
func TestFixtureV1(t *testing.T) {
	b, err := Open("testdata/v1.sparsebundle")
	if err != nil {
		t.Fatal(err)
	}
	if want := (Info{BandSize: 4096, Size: 65536}); b.Info != want {
		t.Errorf("info %+v, want %+v", b.Info, want)
	}
	h := sha256.New()
	if n, err := io.Copy(h, io.NewSectionReader(b.Reader(), 0, b.Info.Size)); err != nil || n != b.Info.Size {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	const want = "6cad03d57869a580ed3ea14b259723fefb878093f2500c19e83496bb3a6d7dae"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("sha256 %s, want %s", got, want)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func removeAll(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}
