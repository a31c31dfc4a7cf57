// Package sums knows the sums of bands: the file of them that stands in a
// checkpoint's directory, and how a band is read from the disk to be summed.
package sums

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/record"
)

// Sum is the SHA-256 of a band.
type Sum [sha256.Size]byte

// String gives the sum in hex.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// List has the sums of a checkpoint's bands, by their numbers.
type List map[uint64]Sum

// ErrDamaged says that a file of sums is not as it was written.
var ErrDamaged = errors.New("not as it was written")

// seal is how the last line begins, which has the sum of all lines before it. For
// sha256sum(1) it is a comment.
const seal = "# "

// Read reads the file of sums in a checkpoint's directory. The error is fs.ErrNotExist
// where there is none, and ErrDamaged where it is damaged; the list then has what can
// still be read of it.
func Read(d *dir.Dir) (List, error) {
	f, err := d.OpenFile(record.SumsFile, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	list, err := parse(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", d.Path(record.SumsFile), err)
	}
	return list, err
}

// Sealed tells whether the last line of a damaged file of sums says that it was written
// for these sums: then nothing but the file is damaged.
func Sealed(d *dir.Dir, list List) bool {
	f, err := d.OpenFile(record.SumsFile, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return err == nil && bytes.HasSuffix(text, []byte("\n"+list.seal()))
}

// parse reads the text of a file of sums. A line of which only the name can be read has
// a sum that no band has.
func parse(text []byte) (List, error) {
	list := List{}
	for line := range bytes.Lines(text) {
		if num, sum, ok := parseLine(line); ok {
			list[num] = sum
		} else if num, ok := nameOf(line); ok {
			list[num] = Sum{}
		}
	}
	if !bytes.Equal(list.text(), text) {
		return list, ErrDamaged
	}
	return list, nil
}

// parseLine reads one line, its newline included.
func parseLine(line []byte) (num uint64, sum Sum, ok bool) {
	if len(line) < 2*len(sum)+4 || line[len(line)-1] != '\n' {
		return 0, sum, false
	}
	digits, rest := line[:2*len(sum)], line[2*len(sum):len(line)-1]
	if _, err := hex.Decode(sum[:], digits); err != nil || string(rest[:2]) != "  " {
		return 0, sum, false
	}
	num, ok = bands.Number(rest[2:])
	return num, sum, ok
}

// nameOf reads the band's number in a line whose sum cannot be read.
func nameOf(line []byte) (uint64, bool) {
	const at = 2*sha256.Size + 2
	if len(line) <= at+1 {
		return 0, false
	}
	return bands.Number(line[at : len(line)-1])
}

// line gives the line of a band.
func line(num uint64, sum Sum) string { return sum.String() + "  " + bands.Name(num) + "\n" }

// text gives the whole file.
func (l List) text() []byte {
	var b bytes.Buffer
	for _, num := range slices.Sorted(maps.Keys(l)) {
		b.WriteString(line(num, l[num]))
	}
	b.WriteString(l.seal())
	return b.Bytes()
}

// seal gives the last line.
func (l List) seal() string {
	h := sha256.New()
	for _, num := range slices.Sorted(maps.Keys(l)) {
		_, _ = io.WriteString(h, line(num, l[num])) // never fails
	}
	return seal + hex.EncodeToString(h.Sum(nil)) + "\n"
}
