//go:build linux

package bands

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// What was written and not flushed is known to whoever inherits the marks, and is
// synced by its first flush; what was flushed is not synced again.
func TestInherit(t *testing.T) {
	f := newFixture(t, false)
	block := aligned(t, Align)
	block[0] = 1
	f.must(f.im.WriteAt(block, 0))
	f.must(f.im.Flush())
	f.must(f.im.WriteAt(block, 3*testBand))
	f.im.mark(f.im.band(5)).Store(syncing) // killed in the middle of a flush
	f.must(f.im.WriteAt(block, 5*testBand))
	f.im.mark(f.im.band(5)).Store(syncing)
	f.im.mark(f.im.band(7)).Store(written) // and removed by somebody

	fd, err := unix.FcntlInt(uintptr(f.im.Marks()), unix.F_DUPFD_CLOEXEC, 0)
	f.must(err)
	heir, err := Open(f.dir, testSize, testBand, false)
	f.must(err)
	defer heir.Close()
	f.must(heir.Inherit(fd))
	if got := indices(heir.dirty); !slices.Equal(got, []int64{3, 5}) {
		t.Errorf("the heir will sync %v, want 3 and 5", got)
	}
	if !heir.dirDirty.Load() {
		t.Error("the heir will not sync the directory")
	}
	f.must(heir.Flush())
	for i := range heir.table {
		if m := heir.mark(heir.band(int64(i))).Load(); m != clean {
			t.Errorf("mark %d of band %d after a flush", m, i)
		}
	}
}

// A band that is closed while a flush is under way is not closed before it is synced.
func TestEvictWhileSyncing(t *testing.T) {
	f := newFixture(t, false)
	block := aligned(t, Align)
	block[0] = 1
	f.must(f.im.WriteAt(block, 0))
	list := f.im.needSync(f.im.dirty)
	b := f.im.band(0)
	b.used.Store(false)
	if !f.im.opened.evict(f.im, b) || len(list) != 1 {
		t.Fatal("not evicted")
	}
	if f.im.mark(b).Load() != clean {
		t.Error("closed before it was synced")
	}
}

func indices(list []*band) []int64 {
	var out []int64
	for _, b := range list {
		out = append(out, b.index)
	}
	return out
}
