//go:build linux

// Package bands is an image made of bands: read, write, flush and punch at any
// offset, over one file per band. It knows nothing of FUSE or loop devices.
//
// What it promises:
//
//   - Break before write. A band with more than one link belongs to a checkpoint
//     too and is never written: the first write makes a copy of it and renames
//     the copy into place. The link count on disk decides, not memory, so that
//     links made behind our back are as safe.
//   - What Flush has acknowledged is on the disk.
//   - A write that cannot be stored returns an error; so does, before that, one
//     that would take the last of the host's space (see room).
//   - While the gate is closed no band changes.
package bands

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Align is the unit of direct I/O: offsets, lengths and buffers of reads and
// writes are multiples of it if the image was opened with direct I/O.
const Align = 4096

// tempPrefix starts the names of half-made copies. They stand in the bundle, not
// among the bands, so that whoever reads the bands sees only bands.
const tempPrefix = ".band-"

// Image is an open image. Its methods may be called from any number of
// goroutines.
type Image struct {
	BandSize int64

	size    atomic.Int64
	bundle  int  // directory of the bundle, for copies in the making
	dir     int  // directory of the bands
	direct  int  // O_DIRECT or 0
	inPlace bool // see writesInPlace
	reflink atomic.Bool
	discard atomic.Bool // see SetDiscardOnly
	retired atomic.Bool // see Retire
	room    room

	gate  sync.RWMutex // held for reading by whatever changes bands
	table []atomic.Pointer[band]
	grow  sync.RWMutex // guards the table's length, for Resize

	flushing sync.Mutex
	dirtyMu  sync.Mutex
	dirty    []*band
	dirDirty atomic.Bool
	marks    *marks

	recorder *Recorder // nil: nobody wants to know

	opened  clock
	buffers chan []byte // for copies: allocated once, so that a break needs no memory
}

// Open opens the bands in bundle/bands. With direct the page cache of the host
// is bypassed, where the host's filesystem can do that.
func Open(bundle string, size, bandSize int64, direct bool) (*Image, error) {
	im := &Image{BandSize: bandSize}
	im.size.Store(size)
	im.reflink.Store(true)
	im.table = make([]atomic.Pointer[band], (size+bandSize-1)/bandSize)
	im.opened.max = maxOpen()
	var err error
	if im.bundle, err = openDir(bundle); err != nil {
		return nil, err
	}
	if im.dir, err = openDir(filepath.Join(bundle, "bands")); err != nil {
		unix.Close(im.bundle)
		return nil, err
	}
	if im.marks, err = openMarks(-1, int64(len(im.table))); err != nil {
		return nil, err
	}
	if err := im.sweep(bundle); err != nil {
		return nil, err
	}
	if err := im.room.open(im.dir); err != nil {
		return nil, &os.PathError{Op: "statfs", Path: bundle, Err: err}
	}
	if direct && im.tryDirect() {
		im.direct = unix.O_DIRECT
	}
	im.buffers = make(chan []byte, copyBuffers)
	for range copyBuffers {
		b, err := unix.Mmap(-1, 0, copyBuffer, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
		if err != nil {
			return nil, fmt.Errorf("copy buffers: %w", err)
		}
		im.buffers <- b
	}
	return im, nil
}

func openDir(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// sweep removes copies that a killed server left half made.
func (im *Image) sweep(bundle string) error {
	names, err := os.ReadDir(bundle)
	if err != nil {
		return err
	}
	for _, e := range names {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			if err := unix.Unlinkat(im.bundle, e.Name(), 0); err != nil {
				return &os.PathError{Op: "remove", Path: e.Name(), Err: err}
			}
		}
	}
	return nil
}

// tryDirect tries one direct write: some filesystems refuse it at open, some
// only at the write.
func (im *Image) tryDirect() bool {
	fd, err := unix.Openat(im.bundle, tempPrefix+"direct", unix.O_RDWR|unix.O_CREAT|unix.O_DIRECT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	defer func() { _ = unix.Unlinkat(im.bundle, tempPrefix+"direct", 0) }()
	page, err := unix.Mmap(-1, 0, Align, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(page) }()
	_, err = unix.Pwrite(fd, page, 0)
	im.inPlace = err == nil && writesInPlace(fd)
	return err == nil
}

// Direct tells whether bands are read and written with direct I/O.
func (im *Image) Direct() bool { return im.direct != 0 }

// Size is the image's size in bytes.
func (im *Image) Size() int64 { return im.size.Load() }

// Resize grows the image. Bands that it had stay as they are.
func (im *Image) Resize(size int64) error {
	im.grow.Lock()
	defer im.grow.Unlock()
	if size < im.size.Load() {
		return fmt.Errorf("image cannot shrink from %d to %d bytes", im.size.Load(), size)
	}
	table := make([]atomic.Pointer[band], (size+im.BandSize-1)/im.BandSize)
	if len(table) > len(im.marks.words) {
		return fmt.Errorf("more than %d bands: detach it first", len(im.marks.words))
	}
	for i := range im.table {
		table[i].Store(im.table[i].Load())
	}
	im.table = table
	im.size.Store(size)
	return im.recorder.add(recordResize, size, 0, nil)
}

// CloseGate waits for the writes that are under way and holds all others back
// until OpenGate.
func (im *Image) CloseGate() {
	im.gate.Lock()
	_ = im.recorder.add(recordGateClosed, 0, 0, nil) // a log that is full refuses the next write
}

// OpenGate lets writes go on.
func (im *Image) OpenGate() {
	_ = im.recorder.add(recordGateOpened, 0, 0, nil)
	im.gate.Unlock()
}

var errRetired = errors.New("the bundle has been handed over")

// Retire makes all durable and refuses every change from then on. The bands may be
// renamed and deleted then: one that is missing is an error, not zeros.
func (im *Image) Retire() error {
	im.gate.Lock()
	im.retired.Store(true)
	im.gate.Unlock()
	return errors.Join(im.Flush(), im.StopRecording())
}

// SetDiscardOnly tells the image that Punch is only ever called for space whose
// content no longer matters. A part of a sealed band is then left as it is:
// copying the rest of the band would take space instead of giving it back.
func (im *Image) SetDiscardOnly(yes bool) { im.discard.Store(yes) }

// DiscardOnly tells what SetDiscardOnly has set.
func (im *Image) DiscardOnly() bool { return im.discard.Load() }

// ReadAt fills p from offset off. Bands that are missing or short read as zeros.
func (im *Image) ReadAt(p []byte, off int64) error {
	return im.each(off, int64(len(p)), func(b *band, at, from, n int64) error {
		return im.read(b, p[from:from+n], at)
	})
}

// WriteAt writes p at offset off. It waits while the gate is closed.
func (im *Image) WriteAt(p []byte, off int64) error {
	im.gate.RLock()
	defer im.gate.RUnlock()
	if im.retired.Load() {
		return errRetired
	}
	err := im.each(off, int64(len(p)), func(b *band, at, from, n int64) error {
		return im.write(b, p[from:from+n], at)
	})
	if err != nil {
		return err
	}
	return im.recorder.add(recordWrite, off, 0, p)
}

// Punch makes n bytes at off read as zeros (see SetDiscardOnly) and gives their
// space back to the host. A band that is punched whole is removed.
func (im *Image) Punch(off, n int64) error {
	im.gate.RLock()
	defer im.gate.RUnlock()
	if im.retired.Load() {
		return errRetired
	}
	if err := im.each(off, n, im.punch); err != nil {
		return err
	}
	return im.recorder.discard(off, n, im.DiscardOnly())
}

// each calls f for each band that the range touches, with the offset in the
// band, the offset in the range and the length.
func (im *Image) each(off, n int64, f func(b *band, at, from, n int64) error) error {
	im.grow.RLock()
	defer im.grow.RUnlock()
	if off < 0 || n < 0 || off+n > im.size.Load() {
		return unix.EINVAL
	}
	for from := int64(0); from < n; {
		at := (off + from) % im.BandSize
		part := min(im.BandSize-at, n-from)
		if err := f(im.band((off+from)/im.BandSize), at, from, part); err != nil {
			return err
		}
		from += part
	}
	return nil
}

// band gives the one object that stands for a band, made at its first use.
func (im *Image) band(i int64) *band {
	if b := im.table[i].Load(); b != nil {
		return b
	}
	im.table[i].CompareAndSwap(nil, &band{index: i, fd: -1, cached: -1})
	return im.table[i].Load()
}

// Close flushes and closes everything.
func (im *Image) Close() error {
	err := errors.Join(im.Flush(), im.recorder.close())
	for i := range im.table {
		if b := im.table[i].Load(); b != nil {
			b.close()
		}
	}
	unix.Close(im.dir)
	unix.Close(im.bundle)
	im.marks.close()
	return err
}
