// Package bands knows the files that a disk image is made of.
//
// A band is a regular file named by its number in lowercase hex without leading
// zeros. A band that is missing reads as zeros, one that is short ends in zeros.
// Beside the bands there may be files that tell of them, see IsNote. Everything else
// in a directory of bands is a stray: no part of the image.
package bands

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/record"
)

// SealedMode is the mode of a band that is never written again, LiveMode that
// of one that belongs to the image alone.
const (
	SealedMode = 0o400
	LiveMode   = 0o600
)

// Band is one band of a set.
type Band struct {
	Num uint64
	Ino uint64
}

// Name is the band's file name.
func (b Band) Name() string { return Name(b.Num) }

// Name is the file name of the band of a number.
func Name(num uint64) string { return strconv.FormatUint(num, 16) }

// Number reads a file name. It is false for what is no band.
func Number(name []byte) (uint64, bool) {
	if len(name) == 0 || len(name) > 16 || name[0] == '0' && len(name) > 1 {
		return 0, false
	}
	var num uint64
	for _, c := range name {
		switch {
		case '0' <= c && c <= '9':
			num = num<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			num = num<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return num, true
}

// Set is what a directory of bands held when it was read.
type Set struct {
	Dir    *dir.Dir
	Dev    uint64 // the device of the inode numbers
	Bands  []Band // by number
	Notes  []string
	Strays []string
}

// IsNote tells whether a name is that of a file that tells of a checkpoint, or of one
// that is to become such a file: the name with a dot before it, and more behind. A
// clone of the bands leaves these out.
func IsNote(name string) bool {
	for _, note := range []string{record.CheckpointFile, record.SumsFile} {
		if name == note || strings.HasPrefix(name, "."+note) {
			return true
		}
	}
	return false
}

// Close closes the set's directory. A nil set is closed.
func (s *Set) Close() {
	if s != nil {
		s.Dir.Close()
	}
}

// Read lists a directory of bands, which then belongs to the set. It takes the inode numbers from the listing
// and asks for a file only where that does not tell them.
func Read(d *dir.Dir) (*Set, error) {
	self, err := d.Self()
	if err != nil {
		return nil, err
	}
	s := &Set{Dir: d, Dev: self.Dev, Bands: make([]Band, 0, 1024)}
	var asked error
	err = d.Each(func(name []byte, ino uint64, kind dir.Kind) {
		if e := s.add(name, ino, kind); asked == nil {
			asked = e
		}
	})
	if err == nil {
		err = asked
	}
	slices.SortFunc(s.Bands, func(a, b Band) int { return cmp.Compare(a.Num, b.Num) })
	return s, err
}

func (s *Set) add(name []byte, ino uint64, kind dir.Kind) error {
	num, ok := Number(name)
	if !ok {
		if note := string(name); IsNote(note) {
			s.Notes = append(s.Notes, note)
		} else {
			s.Strays = append(s.Strays, note)
		}
		return nil
	}
	if ino == 0 || kind == dir.Unknown {
		info, err := s.Dir.Stat(string(name))
		if err != nil {
			return err
		}
		ino = info.Ino
		if info.IsRegular() {
			kind = dir.Regular
		}
	}
	if kind != dir.Regular {
		return fmt.Errorf("%s: a band must be a regular file", s.Dir.Path(string(name)))
	}
	s.Bands = append(s.Bands, Band{num, ino})
	return nil
}

// Find gives the band of a number.
func (s *Set) Find(num uint64) (Band, bool) {
	i, ok := slices.BinarySearchFunc(s.Bands, num, func(b Band, n uint64) int { return cmp.Compare(b.Num, n) })
	if !ok {
		return Band{}, false
	}
	return s.Bands[i], true
}

// Pair is a band number with the band of that number in either of two sets.
type Pair struct {
	Num      uint64
	A, B     Band
	InA, InB bool
}

// SameFile tells whether both sets hold the same file under that number. It is
// sure only for sets of one device.
func (p Pair) SameFile() bool { return p.InA && p.InB && p.A.Ino == p.B.Ino }

// Pairs visits every number that is in one of the sets, in order.
func Pairs(a, b *Set, visit func(Pair) error) error {
	for i, j := 0, 0; i < len(a.Bands) || j < len(b.Bands); {
		var p Pair
		p.InA = j == len(b.Bands) || i < len(a.Bands) && a.Bands[i].Num <= b.Bands[j].Num
		p.InB = i == len(a.Bands) || j < len(b.Bands) && b.Bands[j].Num <= a.Bands[i].Num
		if p.InA {
			p.A, i = a.Bands[i], i+1
			p.Num = p.A.Num
		}
		if p.InB {
			p.B, j = b.Bands[j], j+1
			p.Num = p.B.Num
		}
		if err := visit(p); err != nil {
			return err
		}
	}
	return nil
}
