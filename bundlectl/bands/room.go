//go:build linux

package bands

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// The reserve of the host's free space in bytes is a sixty-fourth of all, but large
// enough for copies of the bands that replaying a journal changes; on a very small
// filesystem it is an eighth.
const (
	minReserve = 32 << 20
	maxReserve = 256 << 20
)

// maxBudget bounds what is written before the host is asked again: others write
// too.
const maxBudget = 64 << 20

// room keeps the last of the host's free space back. A store that fills the disk
// shall not take the room that its database needs to close or restore it, nor the
// room that the filesystem in the image needs to delete. So what would take new
// space is refused when the reserve is reached, what changes space that is there
// goes on, and copies of sealed bands are refused at a quarter of the reserve. Who
// opens an image on a disk that is full already may use half of what is left: the
// journal must be replayed. What counts is what root may use, for the server is
// root. (Where the host shares blocks, a write to a shared one is not counted.)
type room struct {
	grow, copy int64        // bytes that stay free
	budget     atomic.Int64 // bytes that may be written before the host is asked
}

func (r *room) open(dir int) error {
	free, total, err := space(dir)
	if err != nil {
		return err
	}
	reserve := min(max(total/64, minReserve), maxReserve, total/8)
	r.grow, r.copy = min(reserve, free/2), min(reserve/4, free/2)
	return nil
}

// space gives what root may use. Of what ext4 calls free it keeps a fiftieth, at
// most 4096 blocks, for itself.
func space(dir int) (free, total int64, err error) {
	var st unix.Statfs_t
	err = unix.Fstatfs(dir, &st)
	blocks := int64(st.Bfree) - min(int64(st.Blocks)/50, 4096)
	return max(blocks, 0) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), err
}

// mayGrow tells whether n bytes may be written where there are none yet.
func (r *room) mayGrow(dir int, n int64) bool {
	if r.budget.Add(-n) >= 0 {
		return true
	}
	free, _, err := space(dir)
	spare := free - r.grow - n
	if err != nil || spare < 0 {
		return false
	}
	r.budget.Store(min(spare/2, maxBudget))
	return true
}

// mayCopy tells whether a sealed band may be copied.
func (r *room) mayCopy(dir int) bool {
	free, _, err := space(dir)
	return err == nil && free >= r.copy
}

// hasHole tells whether a part of the range has no space on the host yet.
func hasHole(fd int, at, n int64) bool {
	hole, err := unix.Seek(fd, at, unix.SEEK_HOLE)
	return err != nil || hole < at+n
}
