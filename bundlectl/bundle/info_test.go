package bundle

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestInfoGolden holds Info.plist to the bytes that other readers were tried on.
func TestInfoGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/Info.plist")
	if err != nil {
		t.Fatal(err)
	}
	got := Info{BandSize: 8388608, Size: 268435456}.encode()
	if !bytes.Equal(got, want) {
		t.Errorf("Info.plist:\n%s\nwant:\n%s", got, want)
	}
}

// TestLineReader reads our Info.plist the way sparsebundlefs does, which knows
// no XML: it trims a line; one that begins with <key> names the key; the line
// after it holds the value between its first > and the next <.
func TestLineReader(t *testing.T) {
	info := Info{BandSize: 1 << 20, Size: 50 << 30}
	got := readLines(t, string(info.encode()))
	if got["band-size"] != info.BandSize || got["size"] != info.Size {
		t.Errorf("a reader by lines has %v, want %+v", got, info)
	}
}

func readLines(t *testing.T, text string) map[string]int64 {
	found := map[string]int64{}
	key := ""
	for line := range strings.Lines(text) {
		line = strings.Trim(line, " \n\r\t")
		if strings.HasPrefix(line, "<key>") {
			key = line[len("<key>") : len(line)-len("</key>")]
			continue
		}
		if key == "band-size" || key == "size" {
			found[key] = lineValue(t, line)
		}
		key = ""
	}
	return found
}

func lineValue(t *testing.T, line string) int64 {
	_, value, _ := strings.Cut(line, ">")
	value, _, _ = strings.Cut(value, "<")
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		t.Fatalf("value line %q: %v", line, err)
	}
	return n
}

func TestParseInfo(t *testing.T) {
	good := string(Info{BandSize: 8192, Size: 65536}.encode())
	change := func(old, fresh string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %q to replace", old)
		}
		return strings.Replace(good, old, fresh, 1)
	}
	for _, tt := range []struct{ name, text, err string }{
		{"ours", good, ""},
		{"one line", strings.ReplaceAll(strings.ReplaceAll(good, "\n", ""), "\t", ""), ""},
		{"sectors", change("8192", "512"), ""},
		{"empty", "", "not a property list"},
		{"zeros", strings.Repeat("\x00", 512), "not a property list"},
		{"words", "band-size size", "not a property list"},
		{"other format", `{ "band-size" = 8192; }`, "not a property list"},
		{"cut off", good[:len(good)/2], "not a property list"},
		{"an array", `<?xml version="1.0"?><plist version="1.0"><array/></plist>`, "not a property list"},
		{"empty plist", `<?xml version="1.0"?><plist version="1.0"></plist>`, "no diskimage-bundle-type"},
		{"type missing", change("diskimage-bundle-type", "x"), "no diskimage-bundle-type"},
		{"type other", change("diskimage.sparsebundle", "diskimage.sparseimage"), "com.apple.diskimage.sparseimage"},
		{"version missing", change("bundle-backingstore-version", "x"), "no bundle-backingstore-version"},
		{"version 2", change(">1<", ">2<"), "version 2 bundle, written by newer macOS"},
		{"version 3", change(">1<", ">3<"), "bundle-backingstore-version is 3"},
		{"band-size missing", change("band-size", "x"), "no band-size"},
		{"band-size text", change("<integer>8192</integer>", "<string>8192</string>"), "type mismatch"},
		{"band-size zero", change("8192", "0"), "band-size 0 is not a positive multiple of 512"},
		{"band-size negative", change("8192", "-8192"), "band-size -8192"},
		{"band-size odd", change("8192", "8193"), "band-size 8193"},
		{"size missing", change("<key>size", "<key>x"), "no size"},
		{"size zero", change("65536", "0"), "size 0 is not positive"},
		{"size over 63 bits", change("65536", "18446744073709551615"), "size -1 is not positive"},
		{"size over 64 bits", change("65536", "18446744073709551616"), "not a property list"},
		{"too many bands", change("65536", strconv.Itoa(1<<62)), "bands, more than 1099511627776"},
		{"too long", good + strings.Repeat(" ", maxInfo), "too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseInfo([]byte(tt.text))
			checkError(t, err, tt.err)
		})
	}
}

func TestVersion2IsNamed(t *testing.T) {
	text := bytes.Replace(Info{4096, 4096}.encode(), []byte(">1<"), []byte(">2<"), 1)
	if _, err := ParseInfo(text); !errors.Is(err, ErrVersion2) {
		t.Errorf("error %v is not ErrVersion2", err)
	}
}

// checkError wants an error that contains want, or none where want is empty.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error: %v", err)
	case want != "" && err == nil:
		t.Errorf("no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error %q, want %q in it", err, want)
	case err != nil && strings.Contains(err.Error(), "\n"):
		t.Errorf("error %q is more than one line", err)
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add(Info{BandSize: 8388608, Size: 268435456}.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := ParseInfo(data)
		if err != nil {
			return
		}
		// What was read can be used, and written and read again.
		if n := info.Bands(); n < 1 || n > maxBands {
			t.Fatalf("%+v makes %d bands", info, n)
		}
		if again, err := ParseInfo(info.encode()); err != nil || again != info {
			t.Fatalf("%+v is read back as %+v, %v", info, again, err)
		}
	})
}
