package main

import (
	"math"
	"strconv"
	"strings"
	"time"

	"agentfs.internal/tool/status"
)

// momentLayouts are the ways to write a moment, in local time where it says no other.
var momentLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// moment reads a time as people type it: an age, a day or a time of today, a date, a
// date with a time. A day is its first moment.
func moment(text string, now time.Time) (time.Time, bool) {
	year, month, day := now.Date()
	midnight := func(days int) time.Time { return time.Date(year, month, day+days, 0, 0, 0, 0, now.Location()) }
	switch text {
	case "today":
		return midnight(0), true
	case "yesterday":
		return midnight(-1), true
	}
	if d, ok := span(text); ok {
		return now.Add(-d), true
	}
	if t, err := time.Parse("15:04", text); err == nil {
		return time.Date(year, month, day, t.Hour(), t.Minute(), 0, 0, now.Location()), true
	}
	for _, layout := range momentLayouts {
		t, err := time.ParseInLocation(layout, text, now.Location())
		if err == nil && t.UTC().Year() > 0 && t.UTC().Year() < 10000 {
			return t, true
		}
	}
	return time.Time{}, false
}

var spanUnits = map[byte]time.Duration{
	's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
}

// span reads "90s", "1h30m", "2d".
func span(text string) (total time.Duration, ok bool) {
	if text == "" {
		return 0, false
	}
	for text != "" {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		n, err := strconv.ParseInt(text[:digits], 10, 64)
		if err != nil || digits == len(text) {
			return 0, false
		}
		unit := spanUnits[text[digits]]
		if unit == 0 || n > int64((math.MaxInt64-total)/unit) {
			return 0, false
		}
		total += time.Duration(n) * unit
		text = text[digits+1:]
	}
	return total, true
}

// momentFlag gives the value of a flag for cpdb, "" for one that was not given.
func momentFlag(verb, flag, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	t, ok := moment(text, time.Now())
	if !ok {
		return "", status.Errorf(status.Usage, "%s: bad --%s %q", verb, flag, text).
			WithHint(`as in 1h, 2d, 10:30, yesterday, 2026-11-20, "2026-11-20 10:30" or 2026-11-20T09:30:00Z`)
	}
	return t.UTC().Format(time.RFC3339Nano), nil
}
