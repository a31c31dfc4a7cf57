package bundle

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestBandNames(t *testing.T) {
	for i, want := range map[int64]string{0: "0", 9: "9", 10: "a", 15: "f", 16: "10", 255: "ff", 1 << 40: "10000000000", math.MaxInt64: "7fffffffffffffff"} {
		if got := BandName(i); got != want {
			t.Errorf("BandName(%d) = %q, want %q", i, got, want)
		}
		if got, ok := ParseBandName(want); !ok || got != i {
			t.Errorf("ParseBandName(%q) = %d, %v", want, got, ok)
		}
	}
	for _, name := range []string{
		"", "A", "1F", "00", "01", "0x1", "+1", "-1", " 1", "1 ", "1_0", "g", "8000000000000000",
		"10000000000000000", "1.new", ".DS_Store", "٣",
	} {
		if i, ok := ParseBandName(name); ok {
			t.Errorf("ParseBandName(%q) = %d, want refusal", name, i)
		}
	}
}

func TestBandsAreSortedAsNumbers(t *testing.T) {
	b := newBundle(t, Info{BandSize: 4096, Size: 1 << 20})
	for _, name := range []string{"10", "2", "f", "a", "1", "0", "A", "02", "3.new", ".DS_Store"} {
		writeTestFile(t, filepath.Join(b.BandsDir(), name), []byte("x"))
	}
	if err := os.Mkdir(b.BandPath(7), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := b.Bands()
	if want := []int64{0, 1, 2, 10, 15, 16}; err != nil || !slices.Equal(got, want) {
		t.Errorf("bands %v, %v, want %v", got, err, want)
	}
}

func TestUsageCountsAllocatedBytes(t *testing.T) {
	b := newBundle(t, Info{BandSize: 1 << 20, Size: 1 << 24})
	writeTestFile(t, b.BandPath(0), make([]byte, 8192))
	sparse, err := os.Create(b.BandPath(3))
	if err != nil {
		t.Fatal(err)
	}
	defer sparse.Close()
	if err := sparse.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	bands, bytes, err := b.Usage()
	if err != nil || bands != 2 || bytes >= 1<<20 {
		t.Errorf("usage: %d bands, %d bytes, %v; want 2 bands, under 1 MiB", bands, bytes, err)
	}
}

func TestEmptyBundle(t *testing.T) {
	b := newBundle(t, Info{BandSize: 4096, Size: 4096})
	if list, err := b.Bands(); err != nil || list == nil || len(list) != 0 {
		t.Errorf("bands %v, %v, want an empty list", list, err)
	}
	if bands, bytes, err := b.Usage(); err != nil || bands != 0 || bytes != 0 {
		t.Errorf("usage %d, %d, %v, want nothing", bands, bytes, err)
	}
}

func newBundle(t *testing.T, info Info) *Bundle {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x"+Suffix)
	if err := Write(dir, info); err != nil {
		t.Fatal(err)
	}
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeTestFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzParseBandName(f *testing.F) {
	f.Add("1a")
	f.Fuzz(func(t *testing.T, name string) {
		i, ok := ParseBandName(name)
		if !ok {
			return
		}
		if i < 0 || len(name) > 16 || BandName(i) != name {
			t.Fatalf("ParseBandName(%q) = %d, whose name is %q", name, i, BandName(i))
		}
	})
}
