//go:build linux

package linux

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// The fields of an inode, by their offsets.
const (
	inodeCtime      = 0xC
	inodeLinks      = 0x1A
	inodeCtimeExtra = 0x84
)

// inodeTables is where the inodes of an ext4 are.
type inodeTables struct {
	dev       *os.File
	inodeSize int64
	perGroup  int64 // inodes in a group
	groups    []inodeTable
}

type inodeTable struct {
	at   int64 // offset in bytes
	used int64 // inodes from the front on that may be in use
}

// openTables reads the layout of the filesystem on a device. The device's page
// cache is also that of a mounted ext4's metadata: what is read is what is so now.
func openTables(device string) (*inodeTables, error) {
	dev, err := os.Open(device)
	if err != nil {
		return nil, err
	}
	t := &inodeTables{dev: dev}
	if err := t.read(); err != nil {
		dev.Close()
		return nil, err
	}
	return t, nil
}

func (t *inodeTables) read() error {
	l, err := readLayout(t.dev)
	if err != nil {
		return err
	}
	t.inodeSize, t.perGroup = l.inodeSize, l.inodes
	table, err := l.descriptors(t.dev, 0, l.groups())
	if err != nil {
		return err
	}
	for desc := range slices.Chunk(table, int(l.descSize)) {
		t.groups = append(t.groups, t.group(desc, l.blockSize))
	}
	return nil
}

func (t *inodeTables) group(desc []byte, blockSize int64) inodeTable {
	block, unused := int64(le.Uint32(desc[gdTableLo:])), int64(le.Uint16(desc[gdUnusedLo:]))
	if len(desc) >= 64 {
		block |= int64(le.Uint32(desc[gdTableHi:])) << 32
		unused |= int64(le.Uint16(desc[gdUnusedHi:])) << 16
	}
	g := inodeTable{at: block * blockSize, used: max(t.perGroup-unused, 0)}
	if le.Uint16(desc[gdFlags:])&gdUninit != 0 {
		g.used = 0
	}
	return g
}

// prefetch has the kernel read all inodes.
func (t *inodeTables) prefetch() {
	for _, g := range t.groups {
		if g.used > 0 {
			prefetch(t.dev, g.at, g.used*t.inodeSize)
		}
	}
}

// load gives the inodes of a group that may be in use, from buf if it is large
// enough; none of a group that there is not.
func (t *inodeTables) load(g int, buf []byte) ([]byte, error) {
	if g >= len(t.groups) || t.groups[g].used == 0 {
		return nil, nil
	}
	p := buf[:t.groups[g].used*t.inodeSize]
	_, err := t.dev.ReadAt(p, t.groups[g].at)
	return p, err
}

// changedInodes writes to w the numbers of the inodes that differ between the
// filesystems on two devices that were one once, as "12" or "12-40", a line each, in
// order. All that a file is, but for its data, is in its inode or changes the times
// in it; so does every change of its data. But a change in the same tick of the
// clock as another leaves the same time: inodes that were changed around the time
// at which the two parted are written too.
func changedInodes(w io.Writer, a, b string, parted time.Time) error {
	x, err := openTables(a)
	if err != nil {
		return err
	}
	defer x.dev.Close()
	y, err := openTables(b)
	if err != nil {
		return err
	}
	defer y.dev.Close()
	if x.inodeSize != y.inodeSize || x.perGroup != y.perGroup {
		return errLayout
	}
	x.prefetch()
	y.prefetch()
	out := &ranges{w: bufio.NewWriter(w)}
	bufX, bufY := make([]byte, x.perGroup*x.inodeSize), make([]byte, x.perGroup*x.inodeSize)
	for g := range max(len(x.groups), len(y.groups)) {
		p, err := x.load(g, bufX)
		if err != nil {
			return err
		}
		q, err := y.load(g, bufY)
		if err != nil {
			return err
		}
		compareGroup(out, int64(g)*x.perGroup+1, x.inodeSize, p, q, parted)
	}
	return out.end()
}

// compareGroup adds the inodes that differ; first is the number of the first one.
func compareGroup(out *ranges, first, size int64, p, q []byte, parted time.Time) {
	for at := int64(0); at < int64(max(len(p), len(q))); at += size {
		x, y := slot(p, at, size), slot(q, at, size)
		if x == nil && y == nil {
			continue
		}
		if x == nil || y == nil || !bytes.Equal(x, y) || around(x, parted) {
			out.add(first + at/size)
		}
	}
}

// slot gives one inode, nil for one that is not in use.
func slot(table []byte, at, size int64) []byte {
	if at >= int64(len(table)) {
		return nil
	}
	inode := table[at : at+size]
	if le.Uint16(inode[inodeLinks:]) == 0 {
		return nil
	}
	return inode
}

// The time around the parting within which a change may have left no trace: a tick
// of the clock before its earliest moment, and what it may have taken.
const (
	tick    = 20 * time.Millisecond
	parting = 2 * time.Second
)

func around(inode []byte, parted time.Time) bool {
	extra := le.Uint32(inode[inodeCtimeExtra:])
	sec := int64(int32(le.Uint32(inode[inodeCtime:]))) + int64(extra&3)<<32
	changed := time.Unix(sec, int64(extra>>2))
	return changed.After(parted.Add(-tick)) && changed.Before(parted.Add(parting))
}

// ranges writes numbers that come in order.
type ranges struct {
	w           *bufio.Writer
	first, last int64 // the range under way; 0 for none
}

func (r *ranges) add(n int64) {
	if r.first > 0 && n == r.last+1 {
		r.last = n
		return
	}
	r.write()
	r.first, r.last = n, n
}

func (r *ranges) write() {
	switch {
	case r.first == 0:
	case r.first == r.last:
		fmt.Fprintln(r.w, r.first)
	default:
		fmt.Fprintf(r.w, "%d-%d\n", r.first, r.last)
	}
}

func (r *ranges) end() error {
	r.write()
	return r.w.Flush()
}
