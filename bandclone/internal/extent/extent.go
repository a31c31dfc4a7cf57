// Package extent tells where a file's data lies on the disk, so that data that
// two files share is known without reading it.
package extent

// Extent is a run of a file's bytes.
type Extent struct {
	Logical, Physical, Length uint64 // offset in the file, place on the disk, bytes
	Flags                     uint32
}

// The flags that matter, numbered as in linux/fiemap.h.
const (
	flagLast      = 0x1
	flagUnknown   = 0x2
	flagDelayed   = 0x4
	flagEncoded   = 0x8 // compressed: the lengths on disk and in the file differ
	flagEncrypted = 0x80
	flagUnaligned = 0x100
	flagInline    = 0x200
	flagTail      = 0x400
	flagUnwritten = 0x800 // allocated, reads as zeros
	flagShared    = 0x2000
)

// placeless are the flags of an extent whose place on the disk says nothing
// about its content, or is not to be trusted.
const placeless = flagUnknown | flagDelayed | flagEncoded | flagEncrypted |
	flagUnaligned | flagInline | flagTail

// Placed tells whether the extent has a place on the disk of its own length.
func (e Extent) Placed() bool { return e.Flags&placeless == 0 }

// Shared tells whether the filesystem says that others hold it too.
func (e Extent) Shared() bool { return e.Flags&flagShared != 0 }

// Same tells whether two files of one filesystem, of the same length, surely
// have the same content because all their data is the same place on the disk.
// False means only that this cannot be told without reading.
func Same(a, b []Extent) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if !x.Placed() || !y.Placed() ||
			x.Logical != y.Logical || x.Physical != y.Physical || x.Length != y.Length ||
			(x.Flags^y.Flags)&flagUnwritten != 0 {
			return false
		}
	}
	return true
}
