package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"agentfs.internal/treediff/internal/dir"
)

// into makes a directory to unpack into, beside another one with a file in it that
// nobody may touch.
func into(t testing.TB) (d *dir.Dir, outside string) {
	t.Helper()
	top := t.TempDir()
	outside = filepath.Join(top, "outside")
	check(t, os.Mkdir(outside, 0o700))
	check(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	check(t, os.Mkdir(filepath.Join(top, "into"), 0o700))
	d, err := dir.Open(filepath.Join(top, "into"))
	check(t, err)
	t.Cleanup(d.Close)
	return d, outside
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// untouched wants what is outside to be as it was.
func untouched(t testing.TB, outside string) {
	t.Helper()
	var all []string
	check(t, filepath.WalkDir(filepath.Dir(outside), func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && d.Name() == "into" {
			return fs.SkipDir
		}
		all = append(all, d.Name())
		return err
	}))
	secret, err := os.ReadFile(filepath.Join(outside, "secret"))
	check(t, err)
	st, err := os.Stat(filepath.Join(outside, "secret"))
	check(t, err)
	if strings.Join(all[1:], " ") != "outside secret" || string(secret) != "secret" || st.Mode() != 0o600 {
		t.Fatalf("outside there is %v, %q, %v", all, secret, st.Mode())
	}
}

func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Mode == 0 {
			h.Mode = 0o700
		}
		h.Uid, h.Gid = os.Getuid(), os.Getgid()
		check(t, w.WriteHeader(&h))
		_, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size)))
		check(t, err)
	}
	check(t, w.Close())
	return b.Bytes()
}

func unpack(t testing.TB, d *dir.Dir, data []byte) error {
	t.Helper()
	return (&Unpack{Into: d}).Run(context.Background(), bytes.NewReader(data))
}

// TestHostile: nothing leads out of the directory, and the error names the entry.
func TestHostile(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 3} }
	symlink := func(name, to string) tar.Header {
		return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
	}
	hard := func(name, to string) tar.Header {
		return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeLink}
	}
	folder := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir} }
	for name, c := range map[string]struct {
		headers []tar.Header
		says    string
	}{
		"above":                      {[]tar.Header{file("../outside/new")}, `entry "../outside/new": leads out of the tree`},
		"above, in the middle":       {[]tar.Header{file("a/../../outside/new")}, "leads out of the tree"},
		"absolute":                   {[]tar.Header{file("/etc/new")}, `entry "/etc/new": is an absolute name`},
		"no name":                    {[]tar.Header{file(".")}, "root of the tree must be a directory"},
		"through a link":             {[]tar.Header{symlink("l", "../outside"), file("l/new")}, `entry "l/new": a link or a file is on the way`},
		"a directory through a link": {[]tar.Header{symlink("l", "../outside"), folder("l/d")}, `entry "l/d": a link or a file is on the way`},
		"over a link":                {[]tar.Header{symlink("l", "../outside"), folder("l")}, "a link or a file is on the way"},
		"below a file":               {[]tar.Header{file("f"), file("f/g")}, "a link or a file is on the way"},
		"over a directory":           {[]tar.Header{file("d/g"), file("d")}, `entry "d": is a directory already`},
		"hard link above":            {[]tar.Header{hard("h", "../outside/secret")}, `entry "h": a hard link: leads out of the tree`},
		"hard link, absolute":        {[]tar.Header{hard("h", "/etc/passwd")}, "is an absolute name"},
		"hard link to nothing":       {[]tar.Header{hard("h", "nothing")}, `entry "h"`},
		"hard link to itself":        {[]tar.Header{file("h"), hard("h", "./h")}, "to itself"},
		"hard link through a link":   {[]tar.Header{symlink("l", "../outside"), hard("h", "l/secret")}, "a link or a file is on the way"},
		"a device":                   {[]tar.Header{{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}, `entry "null": is a device`},
		"a name twice":               {[]tar.Header{symlink("l", "../outside/secret"), file("l")}, ""},
		"a hard link to a link, and then over it": {
			[]tar.Header{symlink("l", "../outside/secret"), hard("h", "l"), file("h")}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, outside := into(t)
			err := unpack(t, d, tarOf(t, c.headers...))
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("have %v, want %q", err, c.says)
			}
			untouched(t, outside)
		})
	}
}

// TestForeign: directories that come late, again or not at all keep what was said of
// them.
func TestForeign(t *testing.T) {
	d, _ := into(t)
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	check(t, unpack(t, d, tarOf(t,
		tar.Header{Name: "implied/f", Typeflag: tar.TypeReg, Size: 10, ModTime: late},
		tar.Header{Name: "d", Typeflag: tar.TypeDir, Mode: 0o500, ModTime: early},
		tar.Header{Name: "other", Typeflag: tar.TypeReg, ModTime: late},
		tar.Header{Name: "d/f", Typeflag: tar.TypeReg, ModTime: late},
		tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o711, ModTime: early},
		tar.Header{Name: "again", Typeflag: tar.TypeReg, Size: 5, ModTime: late},
		tar.Header{Name: "again", Typeflag: tar.TypeReg, Size: 7, ModTime: late},
	)))
	for name, want := range map[string]struct {
		mode fs.FileMode
		at   time.Time
	}{
		"d": {fs.ModeDir | 0o500, early}, ".": {fs.ModeDir | 0o711, early}, "implied": {fs.ModeDir | 0o755, time.Time{}},
		"again": {0o700, late}, "implied/f": {0o700, late},
	} {
		st, err := os.Stat(d.Path(name))
		check(t, err)
		if st.Mode() != want.mode || !want.at.IsZero() && !st.ModTime().Equal(want.at) {
			t.Errorf("%s: %v %v, want %v", name, st.Mode(), st.ModTime(), want)
		}
	}
}

// TestCutShort: an archive that has lost its end is never taken for a whole one.
func TestCutShort(t *testing.T) {
	whole := tarOf(t, tar.Header{Name: "f", Typeflag: tar.TypeReg, Size: 1000}, tar.Header{Name: "g", Typeflag: tar.TypeReg, Size: 5})
	var pressed bytes.Buffer
	w, err := zstd.NewWriter(&pressed)
	check(t, err)
	_, err = w.Write(whole)
	check(t, errors.Join(err, w.Close()))
	for name, data := range map[string][]byte{"tar": whole[:len(whole)-1024], "tar.zst": pressed.Bytes()} {
		for cut := 0; cut < len(data); cut += 1 + len(data)/100 {
			d, _ := into(t)
			if err := unpack(t, d, data[:cut]); err == nil {
				t.Errorf("%s of %d bytes, cut off at %d: no error", name, len(data), cut)
			}
		}
	}
	for at := range pressed.Len() {
		flipped := bytes.Clone(pressed.Bytes())
		flipped[at] ^= 4
		d, _ := into(t)
		if err := unpack(t, d, flipped); err == nil && !bytes.Equal(inflated(t, flipped), whole) {
			t.Errorf("a bit has flipped in byte %d of %d: no error", at, len(flipped))
		}
	}
	d, _ := into(t)
	if err := unpack(t, d, []byte(strings.Repeat("no archive ", 200))); err == nil || !strings.Contains(err.Error(), "neither a tar nor") {
		t.Errorf("no archive: %v", err)
	}
}

// inflated gives what is in a compressed archive: some bits in one mean nothing.
func inflated(t testing.TB, pressed []byte) []byte {
	t.Helper()
	r, err := decompressed(bytes.NewReader(pressed))
	check(t, err)
	data, err := io.ReadAll(r)
	check(t, err)
	return data
}

// FuzzUnpack: whatever the bytes, nothing outside is touched.
func FuzzUnpack(f *testing.F) {
	f.Add(tarOf(f, tar.Header{Name: "../outside/secret", Typeflag: tar.TypeReg, Size: 3}))
	f.Add(tarOf(f, tar.Header{Name: "l", Linkname: "../outside", Typeflag: tar.TypeSymlink}, tar.Header{Name: "l/secret", Typeflag: tar.TypeReg}))
	f.Add(tarOf(f, tar.Header{Name: "d/", Typeflag: tar.TypeDir}, tar.Header{Name: "d/h", Linkname: "../outside/secret", Typeflag: tar.TypeLink}))
	f.Add(tarOf(f, tar.Header{Name: strings.Repeat("long/", 40) + "f", Typeflag: tar.TypeReg, Size: 600}))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, outside := into(t)
		fixSums(data)
		_ = unpack(t, d, data)
		untouched(t, outside)
	})
}

// fixSums makes the checksums of headers right, or hardly any input would be looked at.
func fixSums(data []byte) {
	for ; len(data) >= block; data = data[block:] {
		if string(data[257:262]) == "ustar" {
			octal(data[148:155], uint64(sumOf(data)))
		}
	}
}

// FuzzNames: a name is refused or stays below the root.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"a/b", "./", "../x", "a/../b", "//", "/a", "a//b/", "\x00", "..."} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		path, err := cleanName(name)
		if err != nil || path == "" {
			return
		}
		if !filepath.IsLocal(path) || filepath.Clean(path) != path {
			t.Errorf("%q became %q", name, path)
		}
	})
}
