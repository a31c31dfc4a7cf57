package dir

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func openTemp(t *testing.T) *Dir {
	t.Helper()
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// TestDeep: a path may be longer than any that the system takes.
func TestDeep(t *testing.T) {
	root := openTemp(t)
	rel, name := "", strings.Repeat("x", 250)
	for range 40 {
		d, err := root.Below(rel)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Mkdir(name); err != nil {
			t.Fatal(err)
		}
		d.Close()
		rel = strings.TrimPrefix(rel+"/"+name, "/")
	}
	d, err := root.Below(rel)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if names, err := d.Entries(); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// TestBelow: no link is followed, by the one call and step by step.
func TestBelow(t *testing.T) {
	root := openTemp(t)
	for _, name := range []string{"d/e", "other"} {
		if err := os.MkdirAll(root.Path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"d/up": "..", "d/abs": "/", "d/e/other": "../../other"} {
		if err := os.Symlink(target, root.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(root.Path("d/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for rel, good := range map[string]bool{
		".": true, "d": true, "d/e": true, "d/up": false, "d/abs": false, "d/abs/etc": false, "d/e/other": false,
		"d/file": false, "nowhere": false, "d/up/other": false,
	} {
		for _, open := range []func(int, string) (int, error){openBelow, stepwise} {
			fd, err := open(root.fd, rel)
			if (err == nil) != good || err != nil && !Gone(err) {
				t.Errorf("%q: %v", rel, err)
			}
			if err == nil {
				_ = unix.Close(fd)
			}
		}
	}
}

// TestOpenFile: only regular files are opened, and never waited for.
func TestOpenFile(t *testing.T) {
	root := openTemp(t)
	if err := unix.Mkfifo(root.Path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", root.Path("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root.Path("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fifo", "link", "nowhere", "."} {
		if f, err := root.OpenFile(name); !Gone(err) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// TestXattrs: many and long ones come whole.
func TestXattrs(t *testing.T) {
	root := openTemp(t)
	path := filepath.Join(root.path, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := Xattrs{}
	for i := range 12 {
		name := "user." + strings.Repeat(string(rune('a'+i)), 60)
		want[name] = []byte(strings.Repeat("v", 100*i/4))
		if err := unix.Lsetxattr(path, name, want[name], 0); errors.Is(err, unix.ENOTSUP) {
			t.Skip("no extended attributes here")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	have, err := root.Xattrs("file")
	if err != nil || !have.Equal(want) {
		t.Errorf("%q, %v", have, err)
	}
	if have, err = root.Xattrs(""); err != nil || len(have) != 0 {
		t.Errorf("%q, %v", have, err)
	}
}

// FuzzParseEntries: whatever a system call gives, it is read or refused, and no name
// has a NUL or is "." or "..".
func FuzzParseEntries(f *testing.F) {
	entry := func(ino uint64, size int, name string) []byte {
		p := make([]byte, max(size, direntName+len(name)+1))
		binary.NativeEndian.PutUint64(p, ino)
		binary.NativeEndian.PutUint16(p[16:], uint16(size))
		p[direntType] = unix.DT_REG
		copy(p[direntName:], name)
		return p
	}
	f.Add(entry(5, 24, "a"))
	f.Add(entry(5, 0, "a"))
	f.Add(entry(5, 24, ".."))
	f.Add(append(entry(5, 24, "a"), entry(6, 900, "b")...))
	f.Fuzz(func(t *testing.T, p []byte) {
		all, err := parseEntries(nil, p)
		for _, e := range all {
			if err == nil && (strings.ContainsRune(e.Name, 0) || e.Name == "." || e.Name == ".." || e.Ino == 0) {
				t.Errorf("%+v", e)
			}
		}
	})
}
