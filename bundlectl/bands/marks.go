//go:build linux

package bands

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// marks tell which bands may not be on the disk yet, in memory that a server shares
// with its standby: they are still known when it is killed.
type marks struct {
	fd    int
	words []atomic.Uint32 // for each band one of the following
}

const (
	clean   = iota
	written // since the last flush took it
	syncing // by the flush under way: not before it succeeds is it clean
)

// minMarks is how many bands there are marks for at least, for images to grow. They
// take no memory before they are used.
const minMarks = 1 << 24

// openMarks maps the marks behind a descriptor, or makes new ones if it is -1.
func openMarks(fd int, bands int64) (*marks, error) {
	n := max(bands, minMarks)
	if fd < 0 {
		var err error
		if fd, err = unix.MemfdCreate("agentfs-marks", unix.MFD_CLOEXEC); err != nil {
			return nil, os.NewSyscallError("memfd_create", err)
		}
		if err := unix.Ftruncate(fd, 4*n); err != nil {
			return nil, os.NewSyscallError("ftruncate", err)
		}
	}
	mem, err := unix.Mmap(fd, 0, int(4*n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("marks of bands: %w", err)
	}
	m := &marks{fd, unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(&mem[0])), n)}
	for i := int64(0); i < bands; i += Align / 4 { // a write must not wait for memory
		m.words[i].Add(0)
	}
	return m, nil
}

func (m *marks) close() {
	_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(&m.words[0])), 4*len(m.words)))
	unix.Close(m.fd)
}

// mark gives that of a band.
func (im *Image) mark(b *band) *atomic.Uint32 { return &im.marks.words[b.index] }

// Marks is the descriptor of what a server must have to go on in place of one that
// was killed: see Inherit.
func (im *Image) Marks() int { return im.marks.fd }

// Inherit takes over the marks of an image that was not closed: the next flush makes
// durable what that one had written, or had begun to sync. It comes before any other
// use of the image.
func (im *Image) Inherit(fd int) error {
	m, err := openMarks(fd, int64(len(im.table)))
	if err != nil {
		return err
	}
	im.marks.close()
	im.marks = m
	im.dirDirty.Store(true) // of that nobody has kept account
	for i := range im.table {
		if m.words[i].Load() != clean {
			if err := im.reopen(im.band(int64(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

// reopen opens a band that somebody else has written.
func (im *Image) reopen(b *band) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := im.open(b); err != nil {
		return err
	}
	if b.absent {
		im.mark(b).Store(clean)
		return nil
	}
	im.mark(b).Store(syncing) // whatever it was, it is not in the list of this process yet
	im.touch(b)
	return nil
}
