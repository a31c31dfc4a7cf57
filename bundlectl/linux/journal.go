//go:build linux

package linux

import (
	"os"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/serve"
)

// The superblock's copy of where the journal is: the block map of its inode, which
// is a tree of extents, here one node.
const (
	sbJournal    = 0x10C
	extentMagic  = 0xF30A
	extentHeader = 12 // bytes, and so is each extent
	mostExtents  = 4  // that an inode has room for

	incompatRecover = 0x4 // the journal is to be replayed
)

// prefetchJournal has the kernel read the journal in large pieces. A mount that
// replays it reads block by block, and each is a request of its own to the band
// server: thousands after a checkpoint of busy hours, a tenth of a second and more.
func (d *loopDevice) prefetchJournal() {
	f, err := os.Open(d.path)
	if err != nil {
		return
	}
	defer f.Close()
	sb := make([]byte, 1024)
	if _, err := f.ReadAt(sb, sbAt); err != nil || le.Uint16(sb[sbMagic:]) != 0xEF53 {
		return
	}
	if le.Uint32(sb[sbIncompat:])&incompatRecover == 0 {
		return // it is empty, as after every detach
	}
	blockSize := int64(1024) << min(le.Uint32(sb[sbLogBlockSize:]), 6)
	tree := sb[sbJournal : sbJournal+extentHeader*(1+mostExtents)]
	if le.Uint16(tree) != extentMagic || le.Uint16(tree[6:]) != 0 {
		return
	}
	for i := range min(int(le.Uint16(tree[2:])), mostExtents) {
		e := tree[extentHeader*(i+1):]
		n, at := int64(le.Uint16(e[4:])), int64(le.Uint16(e[6:]))<<32|int64(le.Uint32(e[8:]))
		prefetch(f, at*blockSize, n*blockSize)
	}
}

// prefetch has the kernel read a part of a device, without waiting for it. At one call
// it reads no more than it reads ahead.
func prefetch(f *os.File, at, n int64) {
	for end := at + n; at < end; at += serve.MaxRequest {
		_ = unix.Fadvise(int(f.Fd()), at, min(serve.MaxRequest, end-at), unix.FADV_WILLNEED)
	}
}
