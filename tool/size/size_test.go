package size

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "4k": 4 << 10, "50G": 50 << 30, "50g": 50 << 30, "50 GiB": 50 << 30,
		"1.5T": 3 << 39, " 512MB ": 512 << 20, "64m": 64 << 20,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1", "50Q", "1e30", "NaN", "Inf", "0x", "5 0"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %d, want an error", text, got)
		}
	}
}

func TestFormat(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0B", 17: "17B", 1023: "1023B", 1024: "1K", 1536: "1.5K", 50 << 30: "50G",
		10<<20 + 1: "10M", 1<<20 - 1: "1M", 3 << 39: "1.5T",
	} {
		if got := Format(n); got != want {
			t.Errorf("Format(%d) = %q, want %q", n, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"50G", "1.5TiB", "-1", "", "9e99"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := Parse(s); err == nil && n < 0 {
			t.Errorf("Parse(%q) = %d", s, n)
		}
	})
}
