package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"agentfs.internal/tool/record"
)

// version writes a version as people type it.
func version(n int64) string { return "v" + strconv.FormatInt(n, 10) }

// quoted puts a name between quotes.
func quoted(s string) string { return "'" + visible(s) + "'" }

// titled names a checkpoint: v4 "before risky refactor", v4 where it has no
// message.
func titled(cp record.Checkpoint) string {
	if cp.Message == "" {
		return version(cp.Version)
	}
	return fmt.Sprintf(`%s "%s"`, version(cp.Version), visible(cp.Message))
}

// marked is a version in a list, with a star where it is pinned.
func marked(cp record.Checkpoint) string {
	if cp.Pinned {
		return version(cp.Version) + "*"
	}
	return version(cp.Version)
}

// visible escapes what would move the cursor or deceive the eye: control and
// format characters and bytes that are not UTF-8.
func visible(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// widest is where a cell of a table is cut.
const widest = 60

func cut(s string) string {
	if runes := []rune(s); len(runes) > widest {
		return string(runes[:widest-1]) + "…"
	}
	return s
}

// ago says how long ago a time is, in one unit.
func ago(t time.Time) string {
	if time.Since(t) < time.Second {
		return "just now"
	}
	return age(t) + " ago"
}

// age is how long ago a time is, in one unit and shortest.
func age(t time.Time) string {
	switch d := max(time.Since(t), 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

func yesNo(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}
