//go:build linux

package bands

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Scratch is the image of bands that nobody may change, a checkpoint's: what is
// written goes to memory and is gone at the end. A filesystem that is mounted to
// be read writes no more than the replay of its journal. Its methods may be called
// from any number of goroutines.
type Scratch struct {
	size, bandSize int64
	dir            int            // directory of the bands
	bands          []atomic.Int32 // descriptor of each; absent, or unopened

	mu      sync.RWMutex
	memory  int            // memfd with the blocks that were written, each at its place in the image
	written map[int64]bool // numbers of these blocks of Align bytes
}

// What else stands for a band's descriptor.
const (
	unopened = -1
	absent   = -2
)

// OpenScratch opens the bands in dir as an image of size bytes.
func OpenScratch(dir string, size, bandSize int64) (*Scratch, error) {
	s := &Scratch{size: size, bandSize: bandSize, memory: -1, written: map[int64]bool{}}
	s.bands = make([]atomic.Int32, (size+bandSize-1)/bandSize)
	for i := range s.bands {
		s.bands[i].Store(absent)
	}
	// What is there now must be there later: a band that is missing then is an
	// error, not zeros.
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range names {
		if i, err := strconv.ParseUint(e.Name(), 16, 63); err == nil && i < uint64(len(s.bands)) {
			s.bands[i].Store(unopened)
		}
	}
	if s.dir, err = openDir(dir); err != nil {
		return nil, err
	}
	if s.memory, err = unix.MemfdCreate("agentfs-scratch", unix.MFD_CLOEXEC); err != nil {
		unix.Close(s.dir)
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return s, nil
}

// Size is the image's size in bytes.
func (s *Scratch) Size() int64 { return s.size }

// DiscardOnly is false: nothing is ever discarded.
func (s *Scratch) DiscardOnly() bool { return false }

// Punch is refused: there is no space to give back.
func (s *Scratch) Punch(_, _ int64) error { return unix.EOPNOTSUPP }

// Flush does nothing: what is written here need not survive.
func (s *Scratch) Flush() error { return nil }

// ReadAt fills p from offset off.
func (s *Scratch) ReadAt(p []byte, off int64) error {
	if off < 0 || off+int64(len(p)) > s.size {
		return unix.EINVAL
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.read(p, off)
}

// read reads runs of blocks that were written, and of others. Called with s.mu held.
func (s *Scratch) read(p []byte, off int64) error {
	if len(s.written) == 0 {
		return s.readBands(p, off)
	}
	for len(p) > 0 {
		fresh := s.written[off/Align]
		n := min(int64(len(p)), Align-off%Align)
		for n < int64(len(p)) && s.written[(off+n)/Align] == fresh {
			n = min(int64(len(p)), n+Align)
		}
		read := s.readBands
		if fresh {
			read = s.readMemory
		}
		if err := read(p[:n], off); err != nil {
			return err
		}
		p, off = p[n:], off+n
	}
	return nil
}

func (s *Scratch) readMemory(p []byte, off int64) error { return readFull(s.memory, p, off) }

// readBands reads what the checkpoint holds.
func (s *Scratch) readBands(p []byte, off int64) error {
	for len(p) > 0 {
		n := min(int64(len(p)), s.bandSize-off%s.bandSize)
		fd, err := s.open(off / s.bandSize)
		if err != nil {
			return err
		}
		if fd == absent {
			clear(p[:n])
		} else if err := readFull(fd, p[:n], off%s.bandSize); err != nil {
			return err
		}
		p, off = p[n:], off+n
	}
	return nil
}

// open gives a band's descriptor, or absent. It stays open to the end.
func (s *Scratch) open(i int64) (int, error) {
	if fd := s.bands[i].Load(); fd != unopened {
		return int(fd), nil
	}
	name := strconv.FormatInt(i, 16)
	fd, err := unix.Openat(s.dir, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil { // ENOENT: somebody deletes the checkpoint
		return 0, fmt.Errorf("open band %s: %v: %w", name, err, unix.EIO)
	}
	if !s.bands[i].CompareAndSwap(unopened, int32(fd)) {
		unix.Close(fd)
	}
	return int(s.bands[i].Load()), nil
}

// readFull reads all of p; what lies behind the file's end is zeros.
func readFull(fd int, p []byte, off int64) error {
	for len(p) > 0 {
		n, err := ignoringEINTR(func() (int, error) { return unix.Pread(fd, p, off) })
		if err != nil {
			return err
		}
		if n == 0 {
			clear(p)
			return nil
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// WriteAt keeps p in memory.
func (s *Scratch) WriteAt(p []byte, off int64) error {
	if off < 0 || off+int64(len(p)) > s.size {
		return unix.EINVAL
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	end := off + int64(len(p))
	for _, at := range []int64{off, end} {
		if err := s.complete(at); err != nil {
			return err
		}
	}
	for n := 0; n < len(p); {
		m, err := ignoringEINTR(func() (int, error) { return unix.Pwrite(s.memory, p[n:], off+int64(n)) })
		if err != nil {
			return err
		}
		n += m
	}
	for i := off / Align; i*Align < end; i++ {
		s.written[i] = true
	}
	return nil
}

// complete takes the block that a write at this offset cuts in two from the bands
// into memory.
func (s *Scratch) complete(at int64) error {
	i := at / Align
	if at%Align == 0 || s.written[i] {
		return nil
	}
	var block [Align]byte
	p := block[:min(Align, s.size-i*Align)]
	if err := s.readBands(p, i*Align); err != nil {
		return err
	}
	_, err := unix.Pwrite(s.memory, p, i*Align)
	return err
}

// Close closes everything.
func (s *Scratch) Close() error {
	for i := range s.bands {
		if fd := s.bands[i].Load(); fd >= 0 {
			unix.Close(int(fd))
		}
	}
	unix.Close(s.memory)
	unix.Close(s.dir)
	return nil
}
