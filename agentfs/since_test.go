package main

import (
	"strings"
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	zone := time.FixedZone("somewhere", 2*3600)
	now := time.Date(2026, 11, 20, 10, 32, 15, 0, zone)
	for text, want := range map[string]string{
		"1h":                        "2026-11-20T09:32:15+02:00",
		"1h30m":                     "2026-11-20T09:02:15+02:00",
		"90s":                       "2026-11-20T10:30:45+02:00",
		"2d":                        "2026-11-18T10:32:15+02:00",
		"1w":                        "2026-11-13T10:32:15+02:00",
		"0s":                        "2026-11-20T10:32:15+02:00",
		"today":                     "2026-11-20T00:00:00+02:00",
		"yesterday":                 "2026-11-19T00:00:00+02:00",
		"09:05":                     "2026-11-20T09:05:00+02:00",
		"2026-11-20":                "2026-11-20T00:00:00+02:00",
		"2026-11-20 10:00":          "2026-11-20T10:00:00+02:00",
		"2026-11-20 10:00:01":       "2026-11-20T10:00:01+02:00",
		"2026-11-20T10:00":          "2026-11-20T10:00:00+02:00",
		"2026-11-20T10:00:00Z":      "2026-11-20T10:00:00Z",
		"2026-11-20T10:00:00.5Z":    "2026-11-20T10:00:00Z",
		"2026-11-20T10:00:00-08:00": "2026-11-20T10:00:00-08:00",
	} {
		if got, ok := moment(text, now); !ok || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %t, want %s", text, got.Format(time.RFC3339), ok, want)
		}
	}
	for _, text := range []string{
		"", "h", "1", "-1h", "1.5h", "1y", "1h ", " 1h", "h1", "soon", "25:00", "10:60", "2026-13-01", "2026-02-30", "26-01-01",
		"99999999999w", "9223372036854775807s", "106751d24h", "10000-01-01", "0001-01-01", "9999-12-31T23:59:59-08:00",
	} {
		if got, ok := moment(text, now); ok {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// Whatever is taken is a moment that cpdb can read.
func FuzzMoment(f *testing.F) {
	for _, s := range []string{"1h", "2d3h", "today", "10:30", "2026-11-20", "2026-11-20 10:00", "2026-11-20T10:00:00+01:00", "9999999999999999999s"} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 20, 10, 32, 15, 0, time.FixedZone("somewhere", -8*3600))
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := moment(text, now)
		if !ok {
			return
		}
		sent := got.UTC().Format(time.RFC3339Nano)
		if back, err := time.Parse(time.RFC3339Nano, sent); err != nil || !back.Equal(got) {
			t.Errorf("%q becomes %q: %v, %v", text, sent, back, err)
		}
		if d, is := span(text); is && (d < 0 || strings.Trim(text, "0123456789smhdw") != "") {
			t.Errorf("%q is %v", text, d)
		}
	})
}

func TestWhen(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	time.Local = time.FixedZone("somewhere", 2*3600)
	now := time.Date(2026, 11, 20, 22, 30, 0, 0, time.UTC) // already the 21st there
	for text, want := range map[string]string{
		"2026-11-20T22:28:00Z": "00:28",
		"2026-11-20T21:59:59Z": "Nov 20 23:59",
		"2026-11-01T08:00:00Z": "Nov  1 10:00",
		"2025-11-20T22:28:00Z": "2025-11-21 00:28",
	} {
		at, err := time.Parse(time.RFC3339, text)
		if got := when(at, now); err != nil || got != want {
			t.Errorf("%s: %q, want %q, %v", text, got, want, err)
		}
	}
}

func TestLayOut(t *testing.T) {
	rows := [][]string{{"10:32", "v48", "+147", "-23", "é"}, {"9", "v7", "…", "", ""}, {}}
	lines := layOut(rows, func(column int) int { return map[bool]int{true: 1, false: 2}[column == 2] })
	want := []string{"10:32  v48  +147 -23  é", "9      v7   …", ""}
	for i, line := range lines {
		if line != want[i] {
			t.Errorf("%q, want %q", line, want[i])
		}
	}
}
