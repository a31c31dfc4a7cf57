//go:build linux

package bands

import (
	"sync"

	"golang.org/x/sys/unix"
)

// clock bounds the number of open bands: a second-chance ring.
type clock struct {
	mu   sync.Mutex
	max  int
	hand int
	ring []*band
}

// maxOpen is a quarter of the descriptors that the process may have: a band has
// two.
func maxOpen() int {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil {
		return 256
	}
	return int(min(lim.Cur/4, 4096))
}

// add notes that b is open and closes another band if there are too many.
// Called with b.mu held.
func (c *clock) add(im *Image, b *band) {
	b.used.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	for tries := 2 * len(c.ring); len(c.ring) >= c.max && tries > 0; tries-- {
		c.hand = (c.hand + 1) % len(c.ring)
		if c.evict(im, c.ring[c.hand]) {
			c.ring[c.hand] = b
			return
		}
	}
	c.ring = append(c.ring, b)
}

// evict closes a band that nobody uses. One that is not on the disk is synced first:
// its descriptor is what reports a failed write-back.
func (c *clock) evict(im *Image, b *band) bool {
	if b.used.Swap(false) || !b.mu.TryLock() {
		return false
	}
	defer b.mu.Unlock()
	if b.fd >= 0 && im.mark(b).Load() != clean {
		if unix.Fdatasync(b.fd) != nil {
			return false
		}
		im.mark(b).Store(clean)
	}
	b.close()
	return true
}
