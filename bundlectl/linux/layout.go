//go:build linux

package linux

import (
	"encoding/binary"
	"errors"
	"io"
)

// The fields of ext4 on the disk that tell where its parts are, by their offsets;
// the kernel's Documentation/filesystems/ext4 describes them.
const (
	sbAt           = 1024 // the superblock
	sbBlocksLo     = 0x4
	sbFirstBlock   = 0x14
	sbLogBlockSize = 0x18
	sbLogCluster   = 0x1C
	sbPerGroup     = 0x20 // blocks per group
	sbInodes       = 0x28 // inodes per group
	sbMagic        = 0x38
	sbInodeSize    = 0x58
	sbIncompat     = 0x60
	sbDescSize     = 0xFE
	sbJournal      = 0x10C // copy of the block map of the journal's inode
	sbBlocksHi     = 0x150

	incompatRecover = 0x4  // the journal is to be replayed
	incompatMetaBG  = 0x10 // descriptors are not together
	incompat64Bit   = 0x80 // descriptors have a second half

	gdBitmapLo = 0x0
	gdTableLo  = 0x8
	gdFlags    = 0x12
	gdUnusedLo = 0x1C
	gdBitmapHi = 0x20
	gdTableHi  = 0x28
	gdUnusedHi = 0x32

	gdUninit       = 0x1 // of the flags: no inode of the group was ever used
	gdBitmapUninit = 0x2 // the bitmap of the group was never written
)

var le = binary.LittleEndian

// errLayout says that the filesystem is not one whose parts are known here.
var errLayout = errors.New("another layout than ext4's usual one")

// layout is where the parts of an ext4 are, as its superblock tells.
type layout struct {
	blockSize int64
	first     int64 // the block that the first group begins with
	blocks    int64 // of all groups
	perGroup  int64 // blocks in a group
	descSize  int64 // of a group's descriptor
	inodes    int64 // in a group
	inodeSize int64
	replay    bool // see incompatRecover
	journal   []extent
}

// readLayout reads the superblock of the image.
func readLayout(image io.ReaderAt) (*layout, error) {
	sb := make([]byte, 1024)
	if _, err := image.ReadAt(sb, sbAt); err != nil {
		return nil, err
	}
	u32 := func(at int) int64 { return int64(le.Uint32(sb[at:])) }
	incompat := u32(sbIncompat)
	if le.Uint16(sb[sbMagic:]) != 0xEF53 || incompat&incompatMetaBG != 0 || u32(sbLogCluster) != u32(sbLogBlockSize) {
		return nil, errLayout
	}
	l := &layout{
		blockSize: int64(1024) << min(u32(sbLogBlockSize), 6),
		first:     u32(sbFirstBlock),
		blocks:    u32(sbBlocksLo),
		perGroup:  u32(sbPerGroup),
		descSize:  32,
		inodes:    u32(sbInodes),
		inodeSize: int64(le.Uint16(sb[sbInodeSize:])),
		replay:    incompat&incompatRecover != 0,
		journal:   journalExtents(sb[sbJournal:]),
	}
	if incompat&incompat64Bit != 0 {
		l.blocks |= u32(sbBlocksHi) << 32
		l.descSize = int64(le.Uint16(sb[sbDescSize:]))
	}
	if l.inodeSize < 160 || l.inodes == 0 || l.perGroup == 0 || l.perGroup > 8*l.blockSize || l.descSize < 32 || l.blocks <= l.first || l.blocks > 1<<40 {
		return nil, errLayout
	}
	return l, nil
}

func (l *layout) groups() int64 { return (l.blocks - l.first + l.perGroup - 1) / l.perGroup }

// descriptors reads those of n groups from group g on.
func (l *layout) descriptors(image io.ReaderAt, g, n int64) ([]byte, error) {
	table := make([]byte, n*l.descSize)
	_, err := image.ReadAt(table, (l.first+1)*l.blockSize+g*l.descSize)
	return table, err
}
