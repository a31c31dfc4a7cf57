package sums

import (
	"os"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/dir"
)

// openDisk opens a file to be read past the page cache.
func openDisk(d *dir.Dir, name string) (*os.File, error) { return openCached(d, name) }

func openCached(d *dir.Dir, name string) (*os.File, error) {
	f, err := d.OpenFile(name, unix.O_RDONLY, 0)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_NOCACHE, 1)
	}
	return f, err
}
