package extent

import "golang.org/x/sys/unix"

// Mapper asks for extents.
type Mapper struct{}

// Map would give the extents of an open file. APFS does not tell them for a
// whole file; callers compare contents or count by inode instead.
func (*Mapper) Map(int, []Extent) ([]Extent, error) { return nil, unix.ENOTSUP }

// Sharing tells whether files of the filesystem that fd is on may share extents.
func Sharing(int) bool { return true }
