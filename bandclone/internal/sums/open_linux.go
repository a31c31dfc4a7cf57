package sums

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/dir"
)

// openDisk opens a file to be read past the page cache, where the filesystem can.
func openDisk(d *dir.Dir, name string) (*os.File, error) {
	f, err := d.OpenFile(name, unix.O_RDONLY|unix.O_DIRECT, 0)
	if errors.Is(err, unix.EINVAL) {
		return openCached(d, name)
	}
	return f, err
}

// openCached opens a file whose part of the page cache it drops, if all of it is on the
// disk.
func openCached(d *dir.Dir, name string) (*os.File, error) {
	f, err := d.OpenFile(name, unix.O_RDONLY, 0)
	if err == nil {
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	}
	return f, err
}
