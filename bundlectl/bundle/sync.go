package bundle

import (
	"cmp"
	"os"
	"sync"
)

// syncer syncs and closes files side by side: the host's journal then commits
// many of them at once.
type syncer struct {
	wg   sync.WaitGroup
	slot chan struct{} // one for each file that is open
	mu   sync.Mutex
	err  error
}

func newSyncer() *syncer { return &syncer{slot: make(chan struct{}, 16)} }

// add takes a file over; it waits while too many are open.
func (s *syncer) add(f *os.File) {
	s.slot <- struct{}{}
	s.wg.Go(func() {
		err := cmp.Or(f.Sync(), f.Close())
		<-s.slot
		s.mu.Lock()
		s.err = cmp.Or(s.err, err)
		s.mu.Unlock()
	})
}

// wait returns when every file is on disk.
func (s *syncer) wait() error {
	s.wg.Wait()
	return s.err
}
