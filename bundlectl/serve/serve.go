//go:build linux

// Package serve is the band server: a process that serves a bundle's bands to
// the kernel as one file, over FUSE, for a loop device to stand on.
//
// The process that attaches opens /dev/fuse and makes the mount, detached: it
// stands in no namespace and lives as long as the loop device holds its file.
// When the filesystem is unmounted, the loop device lets go, the mount ends, and
// with it the server. So nothing can be left behind, whichever process is killed.
//
// A server must never touch the filesystem that it serves, nor hold it, and never
// wait for memory that only writing to it could free. See harden.go.
package serve

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bands"
	"agentfs.internal/tool/fault"
)

var serveFlushed = fault.Define("bundlectl.serve.flushed")

// MaxRequest is the size in bytes of the largest read and write.
const MaxRequest = 1 << 20

// DirectBlock is the smallest block size in bytes of a filesystem in the image
// that direct I/O can serve.
const DirectBlock = bands.Align

// Ready is what a server says when it serves.
const Ready = "ready"

// Config is what a server needs to know.
type Config struct {
	Bundle   string // path of the bundle
	Size     int64  // bytes
	BandSize int64  // bytes
	Direct   bool   // bypass the host's page cache, if it can
	Name     string // name of the served file
	Socket   string // path of the control socket
	Log      string // path of the log, which must not be on a served mount
	FuseFD   int    // descriptor of /dev/fuse, with the mount made
	ReadyFD  int    // descriptor on which "ready" or an error is written once
	Record   string // path of a file to log in what is done to the image, see bands.Recorder; "" for none

	// Checkpoint is, where it is not "", the directory of the bands to serve
	// instead of the bundle's. They are only read: the server then needs no lock, no
	// socket, no log and none of what harden does for those that wait for writes.
	Checkpoint string
}

// Run serves until the mount ends.
func Run(cfg Config) error {
	ready := os.NewFile(uintptr(cfg.ReadyFD), "ready")
	s, err := start(cfg)
	if err != nil {
		fmt.Fprint(ready, err)
		ready.Close()
		return err
	}
	fmt.Fprint(ready, Ready)
	ready.Close()
	return s.serve()
}

// disk is an image as the kernel uses it.
type disk interface {
	Size() int64
	ReadAt(p []byte, off int64) error
	WriteAt(p []byte, off int64) error
	Flush() error
	Punch(off, n int64) error
	DiscardOnly() bool
	Close() error
}

type server struct {
	lock   int // descriptor of the bundle, holding its flock
	image  disk
	live   *bands.Image // the same, nil for a checkpoint's
	fuse   *fuse.Server
	socket *net.UnixListener
	log    *log.Logger
	run    *os.Root // the directory of socket and log
	cfg    Config

	names      sync.Mutex // guards the files' names
	handedOver bool       // they are another server's

	// What a standby is given beside the lock: descriptors of /dev/fuse, of the socket,
	// of the directory of socket and log, and of the marks of bands.
	dev, socketFD, runFD, marksFD int
	standingBy                    sync.Once

	mu      sync.Mutex // guards what follows
	state   state
	standby standby
	ending  bool // no standby is wanted any more
}

func start(cfg Config) (*server, error) {
	s := &server{cfg: cfg, log: log.New(io.Discard, "", 0)}
	steps := []func() error{s.harden, s.openLog, s.openImage, s.listen, s.connect, leaveMounts, s.answer}
	if cfg.Checkpoint != "" {
		steps = []func() error{s.openCheckpoint, s.connect, leaveMounts}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *server) harden() error {
	harden()
	return nil
}

func (s *server) openImage() (err error) {
	if s.lock, err = Lock(s.cfg.Bundle); err != nil {
		return err
	}
	s.live, err = bands.Open(s.cfg.Bundle, s.cfg.Size, s.cfg.BandSize, s.cfg.Direct)
	if err != nil {
		return err
	}
	s.image, s.marksFD = s.live, s.live.Marks()
	if s.cfg.Record != "" {
		return s.live.Record(s.cfg.Record, s.cfg.Bundle)
	}
	return nil
}

// answer answers on the control socket.
func (s *server) answer() error {
	go (&control{server: s}).listen(s.socket)
	return nil
}

func (s *server) openCheckpoint() (err error) {
	raiseOpenFiles() // a band each
	s.image, err = bands.OpenScratch(s.cfg.Checkpoint, s.cfg.Size, s.cfg.BandSize)
	return err
}

// connect takes the FUSE connection over; the kernel's first request is answered.
func (s *server) connect() (err error) {
	if s.dev, err = unix.FcntlInt(uintptr(s.cfg.FuseFD), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("dup", err)
	}
	if err := s.newFUSE(); err != nil {
		return err
	}
	first := s.fuse.KernelSettings()
	s.state = state{
		Config: s.cfg, Origin: os.Getpid(),
		Init: unsafe.Slice((*byte)(unsafe.Pointer(first)), unsafe.Sizeof(*first)),
	}
	return nil
}

func (s *server) newFUSE() (err error) {
	fs := &imageFS{RawFileSystem: fuse.NewDefaultRawFileSystem(), name: s.cfg.Name, image: s.image, log: s.log}
	s.fuse, err = fuse.NewServer(fs, fmt.Sprintf("/dev/fd/%d", s.cfg.FuseFD), &fuse.MountOptions{
		MaxWrite:                MaxRequest,
		MaxBackground:           64,
		MaxInflightRequestBytes: inflight,
		DisableXAttrs:           true,
		// Nobody else changes the image: the kernel need not ask before each read
		// whether its size or time has changed.
		ExplicitDataCacheControl: true,
		DisableSplice:            true, // a pipe a request, and the largest requests do not fit
		ExtraCapabilities:        fuse.CAP_ASYNC_DIO,
		Logger:                   log.New(connected{s}, "", logFlags),
	})
	return err
}

// connected logs what the FUSE library says, but for what it says about a connection
// that has ended: the kernel takes no answer then, and wants none.
type connected struct{ *server }

func (c connected) Write(p []byte) (int, error) {
	poll := []unix.PollFd{{Fd: int32(c.dev)}}
	if n, err := unix.Poll(poll, 0); err == nil && n == 1 && poll[0].Revents&unix.POLLERR != 0 {
		return len(p), nil
	}
	return c.log.Writer().Write(p)
}

// serve serves until the mount ends. The standby stays until all is durable: a server
// that is killed while it ends is replaced by one that ends as it should.
func (s *server) serve() error {
	s.fuse.Serve()
	if s.live == nil {
		return s.image.Close()
	}
	err := errors.Join(s.image.Flush(), serveFlushed.Reach(), s.live.StopRecording())
	if err != nil {
		s.log.Printf("closing: %v", err)
	}
	s.endStandby()
	s.socket.Close()
	return errors.Join(err, s.image.Close(), s.clean())
}

// clean removes the socket, and the log if nothing was said that is worth keeping.
func (s *server) clean() (err error) {
	s.names.Lock()
	defer s.names.Unlock()
	name := filepath.Base(s.cfg.Log)
	if s.handedOver { // what was refused since then is of no use to anybody
		return s.run.Remove(oldLog(name))
	}
	err = s.run.Remove(filepath.Base(s.cfg.Socket))
	if st, e := s.run.Stat(name); e == nil && st.Size() == s.state.Notices {
		err = errors.Join(err, s.run.Remove(name))
	}
	return err
}

// ErrLocked says that another process serves the bundle.
var ErrLocked = errors.New("already attached")

// Lock takes the bundle for this process: a flock on its directory, which dies
// with the process and adds no file to the format. It gives the descriptor.
func Lock(bundle string) (int, error) {
	fd, err := unix.Open(bundle, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: bundle, Err: err}
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unix.Close(fd)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return -1, ErrLocked
		}
		return -1, &os.PathError{Op: "lock", Path: bundle, Err: err}
	}
	return fd, nil
}

func (s *server) listen() (err error) {
	// The bundle's lock is ours: a socket that is there is a dead server's.
	if err := os.Remove(s.cfg.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s.socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: s.cfg.Socket, Net: "unix"})
	if err == nil {
		s.socket.SetUnlinkOnClose(false) // the path is not to be found any more then
		s.socketFD, err = dupSocket(s.socket)
	}
	return err
}

// dupSocket gives another descriptor of a socket, which stays as it is. (With File it
// would begin to block.)
func dupSocket(l *net.UnixListener) (dup int, err error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return -1, err
	}
	e := raw.Control(func(fd uintptr) { dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	return dup, errors.Join(err, e)
}

const logFlags = log.LstdFlags | log.Lmicroseconds | log.LUTC

func (s *server) openLog() error {
	dir := filepath.Dir(s.cfg.Log)
	err := os.MkdirAll(dir, 0o700)
	if err != nil {
		return err
	}
	if s.run, err = os.OpenRoot(dir); err != nil {
		return err
	}
	f, err := s.run.OpenFile(filepath.Base(s.cfg.Log), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	// A panic's words must end up there too.
	if err := unix.Dup3(int(f.Fd()), 2, 0); err != nil {
		return err
	}
	s.log = log.New(f, "", logFlags)
	s.runFD, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return err
}

// leaveMounts lets go of all mounts but those of the directories that are open.
// The server is started in a mount namespace of its own, with copies of all
// mounts: they would keep other bundles mounted. In the namespace of whoever
// attaches it could end up as the last process, a container's say, and then be
// made to unmount what it serves itself, at its own end: it would wait for ever.
// A standby, started later, finds the program in /proc.
func leaveMounts() error {
	_ = os.Chdir("/proc")
	if err := unix.Unmount("/", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the mounts: %w", err)
	}
	return nil
}
