package bands

import (
	"sync"
	"sync/atomic"

	"agentfs.internal/bandclone/internal/dir"

	"golang.org/x/sys/unix"
)

// atOnce is how many files are synced at a time: the disk serves them together, and
// the filesystem with one commit of its journal.
const atOnce = 8

// Flushed knows the files that are on the disk: what is sealed and was synced once
// stays as it is.
type Flushed map[fileID]bool

type fileID struct{ dev, ino uint64 }

// Add notes that all bands of a set are on the disk.
func (f Flushed) Add(s *Set) {
	for _, b := range s.Bands {
		f[fileID{s.Dev, b.Ino}] = true
	}
}

// Sync puts the bands of a set on the disk that are not known to be there, under the
// names that they have in d. Then it knows them, too.
func (f Flushed) Sync(d *dir.Dir, s *Set) error {
	var todo []Band
	for _, b := range s.Bands {
		if !f[fileID{s.Dev, b.Ino}] {
			todo = append(todo, b)
		}
	}
	var next atomic.Int64
	errs := make(chan error, atOnce)
	var group sync.WaitGroup
	for range min(atOnce, len(todo)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(todo)) && len(errs) == 0; i = next.Add(1) - 1 {
				if err := SyncFile(d, todo[i].Name()); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	if len(errs) > 0 {
		return <-errs
	}
	f.Add(s)
	return nil
}

// SyncFile puts one file on the disk.
func SyncFile(d *dir.Dir, name string) error {
	f, err := d.OpenFile(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
