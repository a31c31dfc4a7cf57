//go:build linux

package serve

import (
	"encoding/json"
	"os"
	"syscall"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A standby is a process that has what the server has, and waits. The kernel keeps a
// FUSE connection as long as anybody has its descriptor, and requests that were not
// answered with it: when the server is killed, the standby becomes the server. It has
// the lock too, so that there is no moment at which the bundle is nobody's, and the
// listening socket, so that nobody who asks is turned away.

// StandbyEnv, "false" in the environment of attach, leaves the server without standby.
const StandbyEnv = "AGENTFS_STANDBY"

// The descriptors that a standby is started with, behind the standard ones.
const (
	devFD    = 3 + iota // of /dev/fuse
	stateFD             // to read states from, until the server is dead
	lockFD              // of the bundle, with its lock
	socketFD            // that listens
	runFD               // of the directory of socket and log
	marksFD             // see bands.Image.Inherit
	standbyFDs
)

// state is what a standby must know. A server writes it as a line of JSON to its
// standby whenever it changes.
type state struct {
	Config
	Init          []byte // the kernel's first request
	DiscardOnly   bool
	Device, Mount string      // what mounted has told
	Origin        int         // pid of the first server
	Deaths        []time.Time // of servers, of late
	Replaced      int         // how many servers have died
	ReplacedAt    time.Time   // when the last one was found dead
	Notices       int64       // bytes of the log that need not be kept
}

// standby is the process that waits; its zero value is none.
type standby struct {
	pid  int
	told *os.File // the pipe for states
}

// change changes the state, and tells the standby.
func (s *server) change(f func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
	s.tell()
}

// tell tells the standby the state. If it does not take it, another one will. Called
// with s.mu held.
func (s *server) tell() {
	if s.standby.pid == 0 {
		return
	}
	_ = s.standby.told.SetWriteDeadline(time.Now().Add(time.Second))
	if json.NewEncoder(s.standby.told).Encode(&s.state) != nil {
		_ = unix.Kill(s.standby.pid, unix.SIGKILL)
	}
}

// mayStandBy tells whether a standby would be of use: the kernel must be able to send
// requests again that were not answered (Linux 6.9). Who reads a log of what is done to
// the image counts on a server whose death is the end.
func (s *server) mayStandBy() bool {
	first := (*fuse.InitIn)(unsafe.Pointer(&s.state.Init[0]))
	return first.Flags64()&fuse.CAP_HAS_RESEND != 0 && s.cfg.Record == "" && os.Getenv(StandbyEnv) != "false"
}

// standBy starts a standby, and another one whenever it ends.
func (s *server) standBy() { s.standingBy.Do(s.keepStandby) }

func (s *server) keepStandby() {
	if !s.mayStandBy() || !s.startStandby() {
		return
	}
	go func() {
		for began := time.Now(); s.awaitStandby(); began = time.Now() {
			if time.Since(began) < time.Second { // it cannot be had, for now
				time.Sleep(time.Second)
			}
			s.startStandby()
		}
	}()
}

// startStandby tells whether it has worked. The process is this program, found as the
// server is started in /proc: it has let go of all mounts.
func (s *server) startStandby() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return false
	}
	r, w, err := os.Pipe()
	if err != nil {
		return false
	}
	defer r.Close()
	files := []uintptr{0, 1, 2}
	for _, fd := range []int{s.dev, int(r.Fd()), s.lock, s.socketFD, s.runFD, s.marksFD} {
		files = append(files, uintptr(fd))
	}
	pid, err := syscall.ForkExec("self/exe", []string{os.Args[0], "serve", s.cfg.Bundle, "--standby"}, &syscall.ProcAttr{
		Env: os.Environ(), Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		w.Close()
		s.notice("standby: %v", err)
		return false
	}
	s.standby = standby{pid, w}
	s.tell()
	return true
}

// awaitStandby waits for the standby's end, and tells whether there is to be another.
func (s *server) awaitStandby() bool {
	s.mu.Lock()
	pid := s.standby.pid
	s.mu.Unlock()
	if pid != 0 {
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reapStandby()
	return !s.ending
}

// reapStandby waits for the standby's end. Called with s.mu held.
func (s *server) reapStandby() {
	if s.standby.pid == 0 {
		return
	}
	for {
		if _, err := unix.Wait4(s.standby.pid, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	s.standby.told.Close()
	s.standby = standby{}
}

// endStandby ends the standby for good. When it returns, nobody but the server has
// lock and socket.
func (s *server) endStandby() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	if s.standby.pid != 0 {
		_ = unix.Kill(s.standby.pid, unix.SIGKILL)
	}
	s.reapStandby()
}
