package trees

import (
	"bytes"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"agentfs.internal/treediff/internal/dir"
)

// How far a file's time may be from the moment when the images parted and still be
// of the other side of it: a clock tick before, and after it what the caller's own
// clock may be off.
const (
	tick  = 20 * time.Millisecond
	slack = 2 * time.Second
)

// unchanged tells whether a file is surely the same: in one image nothing of a file
// changes without its ctime.
func (p *Pair) unchanged(a, b *dir.Info) bool {
	return p.OneImage && a.Ino == b.Ino && a.Size == b.Size &&
		a.Mtime == b.Mtime && a.Ctime == b.Ctime && !p.near(a.Ctime)
}

// near tells whether a time is too near to the moment when the images parted.
func (p *Pair) near(t dir.Time) bool {
	if p.Parted.IsZero() {
		return false
	}
	after := time.Unix(t.Sec, t.Nsec).Sub(p.Parted)
	return after >= -tick && after <= slack
}

// metadata compares what Stat tells.
func (p *Pair) metadata(a, b *dir.Info) What {
	var what What
	if a.Perm() != b.Perm() && !a.IsSymlink() {
		what |= Mode
	}
	if a.UID != b.UID || a.GID != b.GID {
		what |= Owner
	}
	if p.Times && a.Mtime != b.Mtime {
		what |= Times
	}
	return what
}

// compare compares two files of one type that are no directories.
func (v *visit) compare(name string, a, b *dir.Info) (What, error) {
	what := v.metadata(a, b)
	if v.unchanged(a, b) {
		return what, nil
	}
	same, err := sameXattrs(v.a, v.b, name)
	if err != nil {
		return 0, err
	}
	if !same {
		what |= Xattrs
	}
	switch a.Type() {
	case unix.S_IFREG:
		if same, err = v.sameContent(name, a, b); !same {
			what |= Content
		}
	case unix.S_IFLNK:
		if same, err = v.sameTarget(name); !same {
			what |= Target
		}
	case unix.S_IFCHR, unix.S_IFBLK:
		if a.Rdev != b.Rdev {
			what |= Device
		}
	}
	return what, err
}

func sameXattrs(a, b *dir.Dir, name string) (bool, error) {
	x, err := a.Xattrs(name)
	if err != nil {
		return false, err
	}
	y, err := b.Xattrs(name)
	return x.Equal(y), err
}

func (v *visit) sameTarget(name string) (bool, error) {
	x, err := v.a.Readlink(name)
	if err != nil {
		return false, err
	}
	y, err := v.b.Readlink(name)
	return x == y, err
}

func (v *visit) sameContent(name string, a, b *dir.Info) (bool, error) {
	if a.Size != b.Size || a.Size == 0 {
		return a.Size == b.Size, nil
	}
	x, err := v.a.OpenFile(name)
	if err != nil {
		return false, err
	}
	defer x.Close()
	y, err := v.b.OpenFile(name)
	if err != nil {
		return false, err
	}
	defer y.Close()
	return sameBytes(x, y)
}

// chunk is how much of two files is read at a time.
const chunk = 128 << 10

var chunks = sync.Pool{New: func() any { return new([2][chunk]byte) }}

// sameBytes compares the contents of two files. Holes in both are not read.
func sameBytes(x, y *dir.File) (bool, error) {
	if x.Size != y.Size {
		return false, nil
	}
	buf := chunks.Get().(*[2][chunk]byte)
	defer chunks.Put(buf)
	sparse := x.Sparse() && y.Sparse()
	for pos := int64(0); pos < x.Size; pos += chunk {
		if sparse {
			if pos = min(x.NextData(pos), y.NextData(pos)); pos == x.Size {
				break
			}
		}
		n, err := x.ReadAt(buf[0][:], pos)
		if err != nil {
			return false, err
		}
		m, err := y.ReadAt(buf[1][:], pos)
		if err != nil || !bytes.Equal(buf[0][:n], buf[1][:m]) {
			return false, err
		}
	}
	return true, nil
}
