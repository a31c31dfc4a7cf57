package dir

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Entry is what a directory tells of a name in it.
type Entry struct {
	Name  string
	Ino   uint64 // of the directory that is covered, where something is mounted
	IsDir bool   // is surely a directory
	Known bool   // the filesystem has told the type
}

// listings are buffers for some hundred entries in one system call.
var listings = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Entries lists the directory, without "." and "..", in the filesystem's order.
func (d *Dir) Entries() ([]Entry, error) {
	buf := listings.Get().(*[32 << 10]byte)
	defer listings.Put(buf)
	var all []Entry
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(d.fd, buf[:]) })
		if err != nil {
			return nil, d.fail("list", "", err)
		}
		if n <= 0 {
			return all, nil
		}
		if all, err = parseEntries(all, buf[:n]); err != nil {
			return nil, d.fail("list", "", err)
		}
	}
}

// parseEntries adds the entries that one system call has given: inode number, an
// offset, the entry's length, and from there on as each system has it.
func parseEntries(all []Entry, p []byte) ([]Entry, error) {
	for len(p) > 0 {
		if len(p) < direntName {
			return nil, fmt.Errorf("half an entry: %d bytes", len(p))
		}
		size := int(binary.NativeEndian.Uint16(p[16:]))
		if size < direntName || size > len(p) {
			return nil, fmt.Errorf("an entry of %d bytes in %d", size, len(p))
		}
		name, _, _ := bytes.Cut(p[direntName:size], []byte{0})
		ino, kind := binary.NativeEndian.Uint64(p), p[direntType]
		p = p[size:]
		if ino == 0 || string(name) == "." || string(name) == ".." {
			continue
		}
		all = append(all, Entry{string(name), ino, kind == unix.DT_DIR, kind != unix.DT_UNKNOWN})
	}
	return all, nil
}
