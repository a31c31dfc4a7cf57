//go:build linux

package linux

import (
	"encoding/binary"

	"agentfs.internal/bundlectl/bundle"
)

// blockSize gives the block size of the ext4 in the image, 0 if there is none.
// (Superblock at byte 1024; s_magic at 56, s_log_block_size at 24: ext4(5), "The
// Super Block" in the kernel's documentation.)
func blockSize(b *bundle.Bundle) int64 {
	var sb [64]byte
	if _, err := b.Reader().ReadAt(sb[:], 1024); err != nil {
		return 0
	}
	if binary.LittleEndian.Uint16(sb[56:]) != 0xEF53 {
		return 0
	}
	return 1024 << min(binary.LittleEndian.Uint32(sb[24:]), 10)
}
