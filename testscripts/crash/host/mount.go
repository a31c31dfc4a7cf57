//go:build linux

package host

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// syncTime is how long a sync takes: what is written meanwhile by others is not in it.
const syncTime = 500 * time.Microsecond

// recorder does what is asked for and logs it, one after the other.
type recorder struct {
	mu  sync.Mutex
	log writer
}

// do does one operation and logs it if it has succeeded.
func (r *recorder) do(f func() (Op, error)) syscall.Errno {
	r.mu.Lock()
	defer r.mu.Unlock()
	op, err := f()
	if err == nil {
		err = r.log.add(op)
	}
	return errno(err)
}

// sync logs a sync. What is below is memory: there is nothing else to do.
func (r *recorder) sync(ino uint64) syscall.Errno {
	var began int64
	e := r.do(func() (Op, error) {
		began = r.log.ops
		return Op{Kind: SyncBegin, Ino: ino}, nil
	})
	if e != 0 {
		return e
	}
	time.Sleep(syncTime)
	return r.do(func() (Op, error) { return Op{Kind: SyncEnd, Ino: ino, Len: began}, nil })
}

// Serve mounts the recording filesystem at mountpoint, with the empty directory below
// behind it, which must be on a tmpfs: that gives no inode number twice. It logs to
// the new file log, says on standard output when it is ready, and returns when it has
// been unmounted. It must be a process of its own: one that starts others may have to
// wait for itself.
func Serve(mountpoint, below, log string) error {
	unix.Umask(0) // the kernel has seen to it
	r := &recorder{}
	var err error
	if r.log.file, err = os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600); err != nil {
		return err
	}
	root, err := r.root(below)
	if err != nil {
		return err
	}
	keep := time.Minute // nobody else changes what is below
	server, err := fs.Mount(mountpoint, root, &fs.Options{
		EntryTimeout:   &keep,
		AttrTimeout:    &keep,
		RootStableAttr: &fs.StableAttr{Ino: root.ino},
		MountOptions: fuse.MountOptions{
			DirectMount: true, FsName: "crash", Name: "agentfs-crash", AllowOther: true,
			MaxWrite: 1 << 20, DisableXAttrs: true, DisableReadDirPlus: true, DisableSplice: true, ExplicitDataCacheControl: true,
		},
	})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	server.Wait()
	return r.log.file.Close()
}

func (r *recorder) root(below string) (*node, error) {
	fd, err := unix.Open(below, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: below, Err: err}
	}
	n, st, err := r.newNode(fd)
	if err != nil {
		return nil, err
	}
	return n, r.log.add(Op{Kind: Mkdir, Ino: n.ino, Mode: st.Mode & 0o7777})
}
