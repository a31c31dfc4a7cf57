// Package size reads and writes byte counts the way people type them.
package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const units = "KMGTPE"

// Parse reads "50G", "512 MiB", "1.5t" or a plain number of bytes. Units are
// powers of 1024, as with hdiutil and truncate.
func Parse(s string) (int64, error) {
	text := strings.TrimSpace(s)
	cut := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	factor := int64(1)
	if n := len(cut); n > 0 {
		if i := strings.IndexByte(units, cut[n-1]); i >= 0 {
			factor = 1 << (10 * (i + 1))
			cut = strings.TrimSpace(cut[:n-1])
		}
	}
	v, err := strconv.ParseFloat(cut, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v*float64(factor) >= math.MaxInt64 {
		return 0, fmt.Errorf("bad size %q: want a number with K, M, G or T, as in 50G", s)
	}
	return int64(v * float64(factor)), nil
}

// Format writes a byte count in at most four characters and a unit: "50G",
// "1.5M", "312K", "17B".
func Format(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	v, i := float64(n)/1024, 0
	for v >= 1023.5 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if tenths := math.Round(v * 10); v < 9.95 && math.Mod(tenths, 10) != 0 {
		return fmt.Sprintf("%.1f%c", v, units[i])
	}
	return fmt.Sprintf("%.0f%c", v, units[i])
}
