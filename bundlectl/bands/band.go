//go:build linux

package bands

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// band is one file. mu is held for reading while its descriptor is used, for
// writing while the descriptor changes: open, create, break, remove, close.
type band struct {
	index  int64
	mu     sync.RWMutex
	fd     int  // -1: not open
	cached int  // the same file without O_DIRECT, for reads; -1: not open
	absent bool // known to be missing on disk
	used   atomic.Bool

	settled atomic.Bool // see settle
}

// name is the band's file name: unpadded lowercase hex.
func (b *band) name() string { return strconv.FormatInt(b.index, 16) }

// length is the length of the band's file when it is full.
func (im *Image) length(b *band) int64 {
	return min(im.BandSize, im.size.Load()-b.index*im.BandSize)
}

// hold takes b.mu for reading with ready(b) true, calling prepare under the
// write lock as often as it takes. The caller releases b.mu if err is nil.
func (b *band) hold(ready func() bool, prepare func() error) error {
	for {
		b.mu.RLock()
		if ready() {
			b.used.Store(true)
			return nil
		}
		b.mu.RUnlock()
		b.mu.Lock()
		err := prepare()
		b.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// read reads through the host's page cache: small files that were written
// together lie together in a band, and the host reads ahead where the filesystem
// in the image cannot, from one file to the next. What is there survives a
// detach, so that a restored project is not read from the disk again.
func (im *Image) read(b *band, p []byte, at int64) error {
	err := b.hold(func() bool { return b.cached >= 0 || b.absent }, func() error { return im.openCached(b) })
	if err != nil {
		return err
	}
	defer b.mu.RUnlock()
	n := 0
	for !b.absent && n < len(p) {
		m, err := ignoringEINTR(func() (int, error) { return unix.Pread(b.cached, p[n:], at+int64(n)) })
		if err != nil {
			return err
		}
		if m == 0 {
			break
		}
		n += m
	}
	clear(p[n:])
	return nil
}

func (im *Image) write(b *band, p []byte, at int64) error {
	done, grow := false, im.room.mayGrow(im.dir, int64(len(p)))
	err := b.hold(func() bool { return done || im.writable(b) }, func() error {
		if err := im.open(b); err != nil {
			return err
		}
		if b.absent && isZero(p) {
			done = true
			return nil // zeros need no band
		}
		if b.absent && !grow {
			return &os.PathError{Op: "create band", Path: b.name(), Err: unix.ENOSPC}
		}
		broken, err := im.unseal(b, at, int64(len(p)), p)
		if done = broken && err == nil; done {
			im.touch(b)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer b.mu.RUnlock()
	if done {
		return nil
	}
	if !grow && hasHole(b.fd, at, int64(len(p))) {
		return &os.PathError{Op: "grow band", Path: b.name(), Err: unix.ENOSPC}
	}
	if err := bandWriting.Reach(); err != nil {
		return err
	}
	if err := writeFull(b.fd, p, at); err != nil {
		return err
	}
	im.touch(b)
	return nil
}

func writeFull(fd int, p []byte, at int64) error {
	for n := 0; n < len(p); {
		m, err := ignoringEINTR(func() (int, error) { return unix.Pwrite(fd, p[n:], at+int64(n)) })
		if err != nil {
			return err
		}
		n += m
	}
	return nil
}

// writable tells whether the band may be written as it is. Called with b.mu held
// for reading.
func (im *Image) writable(b *band) bool {
	var st unix.Statx_t
	return b.fd >= 0 && links(b.fd, &st) == nil && st.Nlink == 1 && st.Mode&0o200 != 0
}

// links gives link count and mode, and asks for nothing else: on Linux 6.13 and
// later, who asks for a file's times makes the next write to it update the inode,
// which costs half of the writes a second.
func links(fd int, st *unix.Statx_t) error {
	return unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_NLINK|unix.STATX_MODE, st)
}

// open opens the band for writing, or finds that there is none. Called with b.mu held.
func (im *Image) open(b *band) error {
	if b.fd >= 0 || b.absent {
		return nil
	}
	fd, err := im.openAs(b, unix.O_RDWR|im.direct)
	b.fd = fd
	b.settled.Store(false)
	return err
}

// openCached opens the band for reading, or finds that there is none: not for
// writing, too, for a host that has become read-only can still be read. Called with
// b.mu held.
func (im *Image) openCached(b *band) (err error) {
	if b.cached < 0 && !b.absent {
		b.cached, err = im.openAs(b, unix.O_RDONLY)
	}
	return err
}

func (im *Image) openAs(b *band, flags int) (fd int, err error) {
	fd, err = unix.Openat(im.dir, b.name(), flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOENT) && im.retired.Load() {
		err = unix.EIO // there or not, it cannot be told any more
	}
	if errors.Is(err, unix.ENOENT) {
		b.absent = true
		return -1, nil
	}
	if err != nil {
		return -1, &os.PathError{Op: "open band", Path: b.name(), Err: err}
	}
	if b.fd < 0 && b.cached < 0 {
		im.opened.add(im, b)
	}
	return fd, nil
}

// close closes the band's descriptors. Called with b.mu held.
func (b *band) close() {
	for _, fd := range []*int{&b.fd, &b.cached} {
		if *fd >= 0 {
			unix.Close(*fd)
		}
		*fd = -1
	}
}

// unseal makes the band writable: created if missing, broken if it has more than one
// link. Of the n bytes at offset at, which are about to change, a broken one has p
// already or, where p is nil, zeros. Called with b.mu held, after open.
func (im *Image) unseal(b *band, at, n int64, p []byte) (broken bool, err error) {
	if b.absent {
		return false, im.create(b)
	}
	var st unix.Statx_t
	if err := links(b.fd, &st); err != nil {
		return false, err
	}
	if st.Nlink == 0 { // whoever asks again would ask for ever
		return false, &os.PathError{Op: "write band", Path: b.name() + ", which somebody has deleted", Err: unix.EIO}
	}
	if st.Nlink > 1 {
		return true, im.breakLink(b, at, n, p)
	}
	if st.Mode&0o200 == 0 { // sealed once, but its checkpoint is gone
		return false, unix.Fchmod(b.fd, 0o600)
	}
	return false, nil
}

// create makes an empty band of full length: writes inside a file's length need
// no lock of the host's filesystem and no change of the inode.
func (im *Image) create(b *band) error {
	fd, err := unix.Openat(im.dir, b.name(), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|im.direct, 0o600)
	if err != nil {
		return &os.PathError{Op: "create band", Path: b.name(), Err: err}
	}
	if err = bandCreated.Reach(); err == nil {
		err = unix.Ftruncate(fd, im.length(b))
	}
	if err != nil {
		unix.Close(fd)
		_ = unix.Unlinkat(im.dir, b.name(), 0) // or the next attempt would find it
		return &os.PathError{Op: "create band", Path: b.name(), Err: err}
	}
	im.dirDirty.Store(true)
	b.fd, b.absent = fd, false
	b.settled.Store(false)
	im.opened.add(im, b)
	return nil
}

func (im *Image) punch(b *band, at, _, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := im.open(b); err != nil || b.absent {
		return err
	}
	if at == 0 && n == im.length(b) {
		return im.remove(b)
	}
	var st unix.Statx_t
	if err := links(b.fd, &st); err != nil {
		return err
	}
	if st.Nlink > 1 && im.discard.Load() {
		return nil
	}
	if _, err := im.unseal(b, at, n, nil); err != nil {
		return err
	}
	b.settled.Store(false)
	im.touch(b)
	err := unix.Fallocate(b.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, n)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return im.zero(b, at, n)
	}
	return err
}

// remove takes the band's name away; a checkpoint that shares it keeps its own.
func (im *Image) remove(b *band) error {
	err := bandRemoving.Reach()
	if err == nil {
		err = unix.Unlinkat(im.dir, b.name(), 0)
	}
	if err != nil {
		return &os.PathError{Op: "remove band", Path: b.name(), Err: err}
	}
	im.dirDirty.Store(true)
	im.mark(b).Store(clean)
	b.close() // its place in the ring goes to the next band that needs one
	b.absent = true
	return nil
}

// zero writes zeros, for hosts that cannot punch holes.
func (im *Image) zero(b *band, at, n int64) error {
	buf := <-im.buffers
	defer func() { im.buffers <- buf }()
	clear(buf)
	for n > 0 {
		m, err := unix.Pwrite(b.fd, buf[:min(n, int64(len(buf)))], at)
		if err != nil {
			return err
		}
		at, n = at+int64(m), n-int64(m)
	}
	return nil
}

var zeros [64 << 10]byte

func isZero(p []byte) bool {
	for len(p) > 0 {
		n := min(len(p), len(zeros))
		if !bytes.Equal(p[:n], zeros[:n]) {
			return false
		}
		p = p[n:]
	}
	return true
}

func ignoringEINTR(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
