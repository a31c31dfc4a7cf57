//go:build linux

package bands

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// flushers is how many bands are synced side by side: the host merges flushes
// that arrive together.
const flushers = 16

// touch notes that the band must be synced by the next flush. Called with b.mu
// held, after the write and before it is acknowledged.
func (im *Image) touch(b *band) {
	if im.mark(b).Swap(written) == written {
		return
	}
	im.dirtyMu.Lock()
	im.dirty = append(im.dirty, b)
	im.dirtyMu.Unlock()
}

// Flush makes everything durable that was written before it was called. One at
// a time: a second one must not return while the first still syncs its bands.
func (im *Image) Flush() error {
	im.flushing.Lock()
	defer im.flushing.Unlock()
	if err := im.recorder.flushBegin(); err != nil {
		return err
	}
	im.dirtyMu.Lock()
	list := im.dirty
	im.dirty = nil
	im.dirtyMu.Unlock()
	err := errors.Join(flushing.Reach(), im.syncAll(im.needSync(list)))
	if im.dirDirty.Swap(false) {
		if e := unix.Fsync(im.dir); e != nil {
			im.dirDirty.Store(true)
			err = errors.Join(err, e)
		}
	}
	if err != nil { // the next flush must fail too, until it succeeds
		for _, b := range list {
			im.touch(b)
		}
		return err
	}
	for _, b := range list {
		im.mark(b).CompareAndSwap(syncing, clean) // not if it was written meanwhile
	}
	return im.recorder.flushEnd()
}

// needSync marks the bands as being synced and leaves out the settled ones but for one:
// syncing any file makes the host empty the disk's cache, and that is all that a
// settled band needs.
func (im *Image) needSync(list []*band) []*band {
	var rest []*band
	var settled *band
	for _, b := range list {
		switch {
		case !im.mark(b).CompareAndSwap(written, syncing): // removed since, or closed, and synced then
		case b.settled.Load():
			settled = b
		default:
			rest = append(rest, b)
		}
	}
	if len(rest) == 0 && settled != nil {
		rest = append(rest, settled)
	}
	return rest
}

func (im *Image) syncAll(list []*band) error {
	if len(list) == 1 {
		return im.sync(list[0])
	}
	var wg sync.WaitGroup
	next := make(chan *band, len(list))
	for _, b := range list {
		next <- b
	}
	close(next)
	errs := make([]error, min(flushers, len(list)))
	for i := range errs {
		wg.Go(func() {
			for b := range next {
				errs[i] = errors.Join(errs[i], im.sync(b))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// sync makes one band durable.
func (im *Image) sync(b *band) error {
	if im.inPlace && !b.settled.Load() && im.isFull(b) {
		return im.settle(b)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return syncFD(b.fd)
}

func syncFD(fd int) error {
	if fd < 0 {
		return nil // removed in between, or closed and synced then
	}
	_, err := ignoringEINTR(func() (int, error) { return 0, unix.Fdatasync(fd) })
	return err
}

// settle syncs a band all of whose blocks are allocated, while nobody writes to
// it. From then on a write to it changes nothing but the blocks themselves, if
// the host writes in place and past its page cache: it is on the disk, perhaps
// in the disk's cache, when it returns. What changes that, a hole or a new file,
// unsettles the band.
func (im *Image) settle(b *band) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := syncFD(b.fd); err != nil {
		return err
	}
	b.settled.Store(im.isFullFD(b))
	return nil
}

// isFull tells whether each block of the band is allocated.
func (im *Image) isFull(b *band) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return im.isFullFD(b)
}

func (im *Image) isFullFD(b *band) bool {
	if b.fd < 0 {
		return false
	}
	var st unix.Statx_t // no times asked for: see links
	err := unix.Statx(b.fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_SIZE|unix.STATX_BLOCKS, &st)
	return err == nil && int64(st.Size) == im.length(b) && st.Blocks*512 >= st.Size
}

// writesInPlace tells whether an overwritten block of a file stays where it is
// and goes straight to the disk: ext4 without journalled data, for which it says
// that it can do direct I/O (Linux 6.1). Filesystems with reflinks or copy on
// write may move it, and then the move must be synced.
func writesInPlace(fd int) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil || fs.Type != unix.EXT4_SUPER_MAGIC {
		return false
	}
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st)
	return err == nil && st.Mask&unix.STATX_DIOALIGN != 0 && st.Dio_offset_align != 0
}
