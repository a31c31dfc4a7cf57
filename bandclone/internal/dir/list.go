package dir

import "sync"

// Kind is the type of a directory's entry.
type Kind uint8

// The kinds that matter here, numbered as d_type is on every system.
const (
	Unknown   Kind = 0
	Directory Kind = 4
	Regular   Kind = 8
	Symlink   Kind = 10
)

// Visit gets one entry. The name is only valid during the call. An inode number
// of 0 is one that the filesystem did not tell in its listing.
type Visit func(name []byte, ino uint64, kind Kind)

// buffers are large enough for 5,000 bands in one system call.
var buffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// Each visits all entries but "." and "..", in the filesystem's order.
func (d *Dir) Each(visit Visit) error {
	self, err := d.Self()
	if err != nil {
		return err
	}
	buf := buffers.Get().(*[128 << 10]byte)
	defer buffers.Put(buf)
	trust := trusting{self: self.Ino, visit: visit, sure: true}
	return d.fail("list", "", each(d.fd, buf[:], trust.entry))
}

// trusting drops inode numbers that a listing makes up, as some FUSE and
// overlay filesystems do. It is told by the directory's own entry, which
// every filesystem lists first.
type trusting struct {
	self  uint64
	sure  bool
	visit Visit
}

// fuseUnknown is what the kernel lists where a FUSE server gave no number.
const fuseUnknown = 0xffffffff

func (t *trusting) entry(name []byte, ino uint64, kind Kind) {
	switch string(name) {
	case ".":
		t.sure = ino == t.self
		return
	case "..":
		return
	}
	if !t.sure || ino == fuseUnknown {
		ino = 0
	}
	t.visit(name, ino, kind)
}

// Names lists the entries that want accepts.
func (d *Dir) Names(want func(name string) bool) ([]string, error) {
	var names []string
	err := d.Each(func(name []byte, _ uint64, _ Kind) {
		if s := string(name); want(s) {
			names = append(names, s)
		}
	})
	return names, err
}
