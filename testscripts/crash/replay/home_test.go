//go:build linux

package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A log of one bundle with bands of 8 KiB, and what each band must be at a crash.
const (
	bundle = "stores/s/s.sparsebundle"
	live   = bundle + "/bands/0"
	sealed = "stores/s/checkpoints/v1/0"
	band   = 8192
)

type logger struct {
	t   *testing.T
	log []Record
}

func (l *logger) add(kind uint32, a, b int64, data []byte) {
	end := int64(len(l.log)+1) * 100
	l.log = append(l.log, Record{Kind: kind, Session: 7, A: a, B: b, Data: data, End: end})
}

func (l *logger) mark(synced []string, files ...File) {
	l.t.Helper()
	data, err := json.Marshal(Mark{What: "test", DB: "db", Synced: synced, Files: files})
	if err != nil {
		l.t.Fatal(err)
	}
	l.add(MarkKind, 0, 0, data)
}

func (l *logger) write(at int64, with byte) { l.add(Write, at, 0, bytes.Repeat([]byte{with}, page)) }

func dirs(names ...string) (list []File) {
	for _, name := range names {
		list = append(list, File{Path: name, Mode: syscall.S_IFDIR | 0o700})
	}
	return list
}

var (
	before = append(dirs("stores", "stores/s", bundle, bundle+"/bands"), File{Path: live, Mode: syscall.S_IFREG | 0o600, Ino: 1})
	after  = append(before[:len(before):len(before)], append(dirs("stores/s/checkpoints", "stores/s/checkpoints/v1"),
		File{Path: sealed, Mode: syscall.S_IFREG | 0o400, Ino: 1})...)
)

// TestBuild: a band is written and flushed, written, sealed, and broken.
func TestBuild(t *testing.T) {
	l := &logger{t: t}
	l.mark(nil, before...)
	l.add(Start, 2*band, band, []byte("/the/home/"+bundle))
	l.write(0, 'a')
	l.add(FlushBegin, 1, 0, nil)
	l.write(page, 'b') // while the flush is under way
	l.add(FlushEnd, 1, 0, nil)
	l.add(GateClosed, 0, 0, nil)
	l.mark(nil, after...)
	l.add(GateOpened, 0, 0, nil)
	l.write(0, 'c') // breaks it
	l.write(0, 'd')
	unsynced := int64(len(l.log)) * 100
	l.mark([]string{"stores/s/checkpoints/v1"}, after...)

	base, dbs := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(base, bundle, "bands"), filepath.Join(dbs, "db")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, live), bytes.Repeat([]byte{'.'}, band), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what         string
		mode         Mode
		cut          int64
		live, sealed string
	}{
		{"all that was written", Prefix, unsynced, "db", "ab"},
		{"what is in the cache is lost, of the checkpoint too", Flushed, unsynced, "cb", "a."},
		{"what is synced is not", Flushed, unsynced + 100, "cb", "ab"},
		{"a flush that has not ended is worth nothing", Flushed, 500, "..", ""},
		{"before the mark there is no checkpoint", Prefix, 700, "ab", ""},
	} {
		h, err := begin("/the/home", base, l.log[0], 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.log[1:] {
			if r.End <= test.cut {
				if err := h.do(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		dir := t.TempDir()
		if err := h.writeTo(dir, dbs, State{Mode: test.mode, Seed: 1}); err != nil {
			t.Fatal(err)
		}
		if got := letters(t, dir, live); got != test.live {
			t.Errorf("%s: the live band is %q, want %q", test.what, got, test.live)
		}
		if got := letters(t, dir, sealed); got != test.sealed {
			t.Errorf("%s: the sealed band is %q, want %q", test.what, got, test.sealed)
		}
	}
}

// TestLooked: a mark may be of the moment before a band was broken, though it comes
// behind it in the log; one that should know of it is an error.
func TestLooked(t *testing.T) {
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, bundle, "bands"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, live), bytes.Repeat([]byte{'.'}, band), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &logger{t: t}
	l.mark(nil, after...)
	l.add(Start, 2*band, band, []byte("/the/home/"+bundle))
	l.write(0, 'a') // breaks it
	l.add(GateClosed, 0, 0, nil)
	for looked, wrong := range map[int64]bool{200: false, 300: true} {
		h, err := begin("/the/home", base, l.log[0], 0)
		for _, r := range l.log[1:] {
			err = errors.Join(err, h.do(r))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := h.mark(Mark{Looked: looked, Files: after}, 500); (err != nil) != wrong {
			t.Errorf("looked at %d: %v", looked, err)
		}
	}
}

// letters gives the first byte of each page of a file, "" where there is none.
func letters(t *testing.T, dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for at := 0; at < len(data); at += page {
		text = append(text, data[at])
	}
	return string(text)
}

// TestDrop: each write is there, or not, or torn at a sector; what was durable is there.
func TestDrop(t *testing.T) {
	n := &inode{durable: bytes.Repeat([]byte{'.'}, band)}
	n.since = []change{{1, 0, bytes.Repeat([]byte{'a'}, page)}, {2, page, bytes.Repeat([]byte{'b'}, page)}}
	seen := map[string]int{}
	for seed := range uint64(300) {
		left := newLoss(State{Mode: Dropped, Seed: seed}).left(n)
		var text []byte
		for at := 0; at < band; at += page {
			first, last := left[at], left[at+page-1]
			for i := at; i < at+page; i++ {
				if left[i] != left[i/sector*sector] {
					t.Fatalf("seed %d: torn at %d, which is within a sector", seed, i)
				}
			}
			if first != last {
				first = '/'
			}
			text = append(text, first)
		}
		seen[string(text)]++
	}
	for _, want := range []string{"..", "a.", ".b", "ab", "/b", "a/", "//"} {
		if seen[want] == 0 {
			t.Errorf("never %q: %v", want, seen)
		}
	}
	if string(n.durable) != string(bytes.Repeat([]byte{'.'}, band)) {
		t.Error("the loss changed what it was given")
	}
}
