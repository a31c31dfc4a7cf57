//go:build linux

package linux

import (
	"encoding/binary"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/serve"
)

// The journal's inode has a tree of extents, here one node.
const (
	extentMagic  = 0xF30A
	extentHeader = 12 // bytes, and so is each extent
	mostExtents  = 4  // that an inode has room for
)

// The fields of the journal's own superblock, its first block; they are big-endian.
const (
	jsbMagic    = 0x0
	jsbType     = 0x4
	jsbLength   = 0x10 // of the journal, in blocks
	jsbStart    = 0x1C // the block where a replay begins; 0 for an empty journal
	jsbIncompat = 0x28

	journalMagic      = 0xC03B3998
	journalSuperblock = 4
	incompatFast      = 0x20 // there is more to replay than start tells
)

// extent is a stretch of blocks.
type extent struct{ at, n int64 }

// journalExtents gives the stretches of the journal from the superblock's copy of its
// block map, none where that is not of the usual form.
func journalExtents(tree []byte) []extent {
	if le.Uint16(tree) != extentMagic || le.Uint16(tree[6:]) != 0 {
		return nil
	}
	var list []extent
	for i := range min(int(le.Uint16(tree[2:])), mostExtents) {
		e := tree[extentHeader*(i+1):]
		list = append(list, extent{at: int64(le.Uint16(e[6:]))<<32 | int64(le.Uint32(e[8:])), n: int64(le.Uint16(e[4:]))})
	}
	return list
}

// journalEmpty tells whether the journal was found, and nothing in it matters: a mount
// would replay nothing.
func (l *layout) journalEmpty(image io.ReaderAt) bool {
	var length int64
	for _, e := range l.journal {
		length += e.n
	}
	if length == 0 {
		return false
	}
	sb := make([]byte, 1024)
	if _, err := image.ReadAt(sb, l.journal[0].at*l.blockSize); err != nil {
		return false
	}
	u32 := func(at int) uint32 { return binary.BigEndian.Uint32(sb[at:]) }
	return u32(jsbMagic) == journalMagic && u32(jsbType) == journalSuperblock && int64(u32(jsbLength)) == length &&
		u32(jsbStart) == 0 && u32(jsbIncompat)&incompatFast == 0
}

// prefetchJournal has the kernel read the journal in large pieces. A mount that
// replays it reads block by block, and each is a request of its own to the band
// server: thousands after a crash in busy hours, a tenth of a second and more.
func (d *loopDevice) prefetchJournal() {
	f, err := os.Open(d.path)
	if err != nil {
		return
	}
	defer f.Close()
	l, err := readLayout(f)
	if err != nil || !l.replay || l.journalEmpty(f) {
		return
	}
	for _, e := range l.journal {
		prefetch(f, e.at*l.blockSize, e.n*l.blockSize)
	}
}

// prefetch has the kernel read a part of a device, without waiting for it. At one call
// it reads no more than it reads ahead.
func prefetch(f *os.File, at, n int64) {
	for end := at + n; at < end; at += serve.MaxRequest {
		_ = unix.Fadvise(int(f.Fd()), at, min(serve.MaxRequest, end-at), unix.FADV_WILLNEED)
	}
}
