//go:build linux

package linux

import "io"

// block is the size of the blocks that are looked at one by one: that of the
// filesystems that Create makes.
const block = 4096

// bookkeeping knows the blocks of an ext4 that may differ between two images of it
// though nothing differs that is stored in them:
//
//   - the superblock, which each mount writes, and its copies, which a new UUID does;
//   - the journal, where it is empty in both;
//   - what is free: a discard may have come since. If it was in use in the other image,
//     then the bitmap differs that tells so, and that is a block like any other.
//
// The zero value knows of none.
type bookkeeping struct {
	*layout
	image   io.ReaderAt
	idle    bool             // the journals are empty
	bitmaps map[int64][]byte // of the groups that were looked at, see bitmap
}

// has tells whether a block is one of them.
func (k *bookkeeping) has(n int64) (bool, error) {
	if k.layout == nil || n >= k.blocks {
		return false, nil
	}
	if k.isSuperblock(n) || k.idle && k.inJournal(n) {
		return true, nil
	}
	return k.isFree(n)
}

// isSuperblock tells whether the block is the superblock or a copy of it: of the
// groups 0, 1 and the powers of 3, 5 and 7 the first block.
func (k *bookkeeping) isSuperblock(n int64) bool {
	g := n / k.perGroup
	return n%k.perGroup == 0 && (g == 0 || isPower(g, 3) || isPower(g, 5) || isPower(g, 7))
}

func isPower(n, of int64) bool {
	for n%of == 0 {
		n /= of
	}
	return n == 1
}

func (k *bookkeeping) inJournal(n int64) bool {
	for _, e := range k.journal {
		if n >= e.at && n < e.at+e.n {
			return true
		}
	}
	return false
}

func (k *bookkeeping) isFree(n int64) (bool, error) {
	g, bit := n/k.perGroup, n%k.perGroup
	bitmap, ok := k.bitmaps[g]
	if !ok {
		var err error
		if bitmap, err = k.bitmap(g); err != nil {
			return false, err
		}
		k.bitmaps[g] = bitmap
	}
	return bitmap != nil && bitmap[bit/8]&(1<<(bit%8)) == 0, nil
}

// inUse tells whether a block is in use, by a file or by the filesystem itself.
func (k *bookkeeping) inUse(n int64) (bool, error) {
	if n >= k.blocks {
		return false, nil
	}
	if k.isSuperblock(n) {
		return true, nil
	}
	free, err := k.isFree(n)
	return !free && k.bitmaps[n/k.perGroup] != nil, err
}

// bitmap reads that of a group: a bit for each block, 1 in use. It is nil where none
// was ever written.
func (k *bookkeeping) bitmap(g int64) ([]byte, error) {
	desc, err := k.descriptors(k.image, g, 1)
	if err != nil || le.Uint16(desc[gdFlags:])&gdBitmapUninit != 0 {
		return nil, err
	}
	at := int64(le.Uint32(desc[gdBitmapLo:]))
	if len(desc) >= 64 {
		at |= int64(le.Uint32(desc[gdBitmapHi:])) << 32
	}
	bitmap := make([]byte, block)
	_, err = k.image.ReadAt(bitmap, at*block)
	return bitmap, err
}
