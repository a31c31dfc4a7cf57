//go:build linux

package bands

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"agentfs.internal/tool/fault"
)

const (
	copyBuffer  = 1 << 20 // bytes
	copyBuffers = 4       // copies at the same time
)

var (
	breakCopied  = fault.Define("bundlectl.serve.break-copied")  // not under its name yet
	breakRenamed = fault.Define("bundlectl.serve.break-renamed") // in place
	bandCreated  = fault.Define("bundlectl.serve.band-created")  // of no length yet
	bandRemoving = fault.Define("bundlectl.serve.band-removing")
	bandWriting  = fault.Define("bundlectl.serve.writing") // a band that may be written
	flushing     = fault.Define("bundlectl.serve.flushing")
)

// breakLink gives the image a band of its own in place of one that a checkpoint
// shares: a reflink where the host can, else a copy of what is not about to change (n
// bytes at offset at). What they become is in it before it gets the name: whatever
// dies in between, the image has the old bytes or the new, as a disk would, and not
// zeros in the middle of a journal or a superblock. The copy is synced before it gets
// the name: the name may reach the disk at any time, and what it named was safe. Where
// the host writes in place, the copy's data are on the disk already, and the host's
// journal, which empties the disk's cache before each commit, has its blocks in
// the same commit as the name or in an earlier one: the next flush will do.
// Called with b.mu held.
func (im *Image) breakLink(b *band, at, n int64, p []byte) error {
	if !im.room.mayCopy(im.dir) {
		return &os.PathError{Op: "copy band", Path: b.name(), Err: unix.ENOSPC}
	}
	temp := tempPrefix + b.name()
	fd, err := unix.Openat(im.bundle, temp, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC|im.direct, 0o600)
	if err != nil {
		return &os.PathError{Op: "copy band", Path: b.name(), Err: err}
	}
	err = im.fill(fd, b, at, at+n)
	if err == nil {
		err = writeFull(fd, p, at)
	}
	if err == nil && !im.inPlace {
		err = syncFD(fd)
	}
	if err == nil {
		err = breakCopied.Reach()
	}
	if err == nil {
		err = unix.Renameat(im.bundle, temp, im.dir, b.name())
	}
	if err != nil {
		unix.Close(fd)
		_ = unix.Unlinkat(im.bundle, temp, 0)
		return &os.PathError{Op: "copy band", Path: b.name(), Err: err}
	}
	im.dirDirty.Store(true)
	b.close()
	b.fd = fd
	b.settled.Store(false)
	return breakRenamed.Reach() // the old band is out of reach whatever comes
}

// fill makes fd a copy of the band, at full length; between from and to it may stay
// empty.
func (im *Image) fill(fd int, b *band, from, to int64) error {
	if im.reflink.Load() {
		err := unix.IoctlFileClone(fd, b.fd)
		if err == nil {
			return unix.Ftruncate(fd, im.length(b))
		}
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EIO) {
			return err
		}
		im.reflink.Store(false) // this host cannot: never asked again
	}
	if err := unix.Ftruncate(fd, im.length(b)); err != nil {
		return err
	}
	if err := im.copyData(fd, b.fd, 0, from); err != nil {
		return err
	}
	return im.copyData(fd, b.fd, to, im.length(b))
}

// copyData copies the data extents between from and to; holes stay holes.
func (im *Image) copyData(dst, src int, from, to int64) error {
	for from < to {
		data, err := unix.Seek(src, from, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) || err == nil && data >= to {
			return nil
		}
		if err != nil {
			return err
		}
		hole, err := unix.Seek(src, data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		// A short band may end anywhere; direct I/O wants whole blocks.
		end := min((hole+Align-1)&^(Align-1), to)
		if err := im.copyRange(dst, src, data&^(Align-1), end); err != nil {
			return err
		}
		from = end
	}
	return nil
}

func (im *Image) copyRange(dst, src int, from, to int64) error {
	buf := <-im.buffers
	defer func() { im.buffers <- buf }()
	for from < to {
		part := buf[:min(int64(len(buf)), to-from)]
		n, err := ignoringEINTR(func() (int, error) { return unix.Pread(src, part, from) })
		if err != nil {
			return err
		}
		clear(part[n:])
		if err := writeFull(dst, part, from); err != nil {
			return err
		}
		from += int64(len(part))
	}
	return nil
}
