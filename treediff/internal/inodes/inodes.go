// Package inodes reads lists of inode numbers.
package inodes

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Set is a set of inode numbers.
type Set struct{ ranges []span }

type span struct{ first, last uint64 }

// Parse reads a list: "12" or "12-40" a line, each behind the ones before. A list that
// is the line "all" is no set: nil.
func Parse(r io.Reader) (*Set, error) {
	s := &Set{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if n == 1 && lines.Text() == "all" {
			return nil, end(lines)
		}
		next, err := parse(lines.Text())
		if err == nil && len(s.ranges) > 0 && next.first <= s.ranges[len(s.ranges)-1].last {
			err = fmt.Errorf("not in order")
		}
		if err != nil {
			return nil, fmt.Errorf("list of inodes, line %d: %q: %w", n, lines.Text(), err)
		}
		s.ranges = append(s.ranges, next)
	}
	return s, lines.Err()
}

// end wants nothing more.
func end(lines *bufio.Scanner) error {
	if lines.Scan() {
		return fmt.Errorf("list of inodes: %q behind all", lines.Text())
	}
	return lines.Err()
}

func parse(line string) (s span, err error) {
	first, last, isRange := strings.Cut(line, "-")
	if s.first, err = strconv.ParseUint(first, 10, 64); err != nil {
		return s, err
	}
	s.last = s.first
	if isRange {
		s.last, err = strconv.ParseUint(last, 10, 64)
	}
	if err == nil && s.last < s.first {
		err = fmt.Errorf("not a range")
	}
	return s, err
}

// Has tells whether a number is in the set.
func (s *Set) Has(n uint64) bool {
	_, ok := slices.BinarySearchFunc(s.ranges, n, func(r span, n uint64) int {
		switch {
		case r.last < n:
			return -1
		case r.first > n:
			return 1
		}
		return 0
	})
	return ok
}
