//go:build linux

package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bands"
	"agentfs.internal/tool/fault"
)

// A server that dies again and again, because of what it is asked, say, is not
// replaced for ever: who waits for an answer gets an error then.
const (
	maxDeaths  = 20
	deathsTime = 10 * time.Second
)

var (
	takeOverBegun  = fault.Define("bundlectl.serve.take-over-begun")
	takeOverOpened = fault.Define("bundlectl.serve.take-over-opened")
	takeOverResent = fault.Define("bundlectl.serve.take-over-resent")
)

// Standby waits until the server that has started it is dead, and then serves in its
// place until the mount ends.
func Standby() error {
	for fd := devFD; fd < standbyFDs; fd++ {
		unix.CloseOnExec(fd)
	}
	st, err := awaitDeath(os.NewFile(stateFD, "state"))
	if err != nil {
		return err
	}
	return takeOver(st)
}

// awaitDeath gives the last state that the server has told. The pipe ends when the last
// of its threads has: none of them is in the middle of a write any more.
func awaitDeath(pipe *os.File) (state, error) {
	defer pipe.Close()
	var last state
	for dec := json.NewDecoder(pipe); ; {
		var st state
		err := dec.Decode(&st)
		if errors.Is(err, io.EOF) && last.Origin != 0 {
			return last, nil
		}
		if err != nil {
			return state{}, fmt.Errorf("standby: %w", err)
		}
		last = st
	}
}

// takeOver goes on where the dead server was. Its own standby comes first: it may die
// at any of the steps too.
func takeOver(st state) error {
	s := &server{cfg: st.Config, state: st, dev: devFD, lock: lockFD, socketFD: socketFD, runFD: runFD, marksFD: marksFD}
	for _, step := range []func() error{s.inheritLog, s.count, s.inheritImage, s.inheritSocket, s.resume, s.answer, s.resend} {
		if err := step(); err != nil {
			return err
		}
	}
	return s.serve()
}

// inherited is the path of what a descriptor stands for. The working directory is
// /proc, see leaveMounts.
func inherited(fd int) string { return fmt.Sprintf("self/fd/%d", fd) }

func (s *server) inheritLog() (err error) {
	s.log = log.New(os.Stderr, "", logFlags)
	s.run, err = os.OpenRoot(inherited(runFD))
	return err
}

// count counts the death, says it and starts the next standby; or gives up, and with
// the last descriptor the connection ends.
func (s *server) count() error {
	now := time.Now()
	st := &s.state
	st.Deaths = append(slices.DeleteFunc(st.Deaths, func(t time.Time) bool { return now.Sub(t) > deathsTime }), now)
	if len(st.Deaths) > maxDeaths {
		return fmt.Errorf("the band server has died %d times within %v: no other takes its place", len(st.Deaths), deathsTime)
	}
	st.Replaced, st.ReplacedAt = st.Replaced+1, now
	s.notice("the band server has died, pid %d takes its place", os.Getpid())
	s.standBy()
	return takeOverBegun.Reach()
}

// notice logs what need not be kept after a good end.
func (s *server) notice(format string, args ...any) {
	kept := s.logSize() != s.state.Notices
	s.log.Printf(format, args...)
	if !kept {
		s.state.Notices = s.logSize()
	}
}

func (s *server) logSize() int64 {
	var st unix.Stat_t
	if unix.Fstat(2, &st) != nil {
		return -1
	}
	return st.Size
}

// inheritImage opens the bands. What the dead server had not synced, the next flush
// will.
func (s *server) inheritImage() (err error) {
	harden()
	st := &s.state
	if s.live, err = bands.Open(inherited(lockFD), st.Size, st.BandSize, st.Direct); err != nil {
		return err
	}
	s.image = s.live
	s.live.SetDiscardOnly(st.DiscardOnly)
	if err := s.live.Inherit(marksFD); err != nil {
		return err
	}
	return takeOverOpened.Reach()
}

// inheritSocket listens itself too: the socket then tells whoever dials the new pid.
func (s *server) inheritSocket() error {
	if err := unix.Listen(socketFD, unix.SOMAXCONN); err != nil {
		return os.NewSyscallError("listen", err)
	}
	l, err := net.FileListener(os.NewFile(socketFD, "socket"))
	if err != nil {
		return err
	}
	s.socket = l.(*net.UnixListener)
	s.socket.SetUnlinkOnClose(false)
	return nil
}

// resume makes a FUSE server that is in the middle of a session: the library reads the
// kernel's first request, saved by the first server, from one end of a socket pair and
// answers there, to nobody. Then the descriptor becomes that of /dev/fuse.
func (s *server) resume() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(pair[0])
	if _, err := unix.Write(pair[0], s.state.Init); err != nil {
		return os.NewSyscallError("write", err)
	}
	s.cfg.FuseFD = pair[1]
	if err := s.newFUSE(); err != nil {
		return err
	}
	return os.NewSyscallError("dup3", unix.Dup3(s.dev, pair[1], unix.O_CLOEXEC))
}

// notifyResend is FUSE_NOTIFY_RESEND.
const notifyResend = 7

// resend makes the kernel queue all requests again that the dead server had taken and
// not answered. It may have done what they ask for, and then that is done twice, which
// is harmless: until the first is answered nobody may rely on either order. A write
// puts the same bytes to the same place, where the kernel sends no other before this
// one has returned; ext4 gives no block away whose discard is under way; a flush syncs
// what there is. They keep their numbers, with the top bit set, and the answers must
// have it too.
func (s *server) resend() error {
	msg := [4]uint32{16, notifyResend} // struct fuse_out_header: length, code, number 0
	if _, err := unix.Write(s.dev, unsafe.Slice((*byte)(unsafe.Pointer(&msg)), len(msg)*4)); err != nil && !errors.Is(err, unix.ENODEV) {
		return os.NewSyscallError("FUSE_NOTIFY_RESEND", err)
	}
	return takeOverResent.Reach()
}
