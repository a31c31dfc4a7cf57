//go:build linux

package serve

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// handOver lets go of the bundle, for another server to take: all is durable, no
// change is taken any more, and lock and names are free. What is left of the
// filesystem, which can only be read now, is served until the kernel has cleared it
// away.
func (s *server) handOver() error {
	s.names.Lock()
	defer s.names.Unlock()
	if s.handedOver {
		return nil
	}
	if err := s.live.Retire(); err != nil {
		return err
	}
	s.endStandby() // it has lock and socket too, and nobody would miss this server
	s.socket.Close()
	log := filepath.Base(s.cfg.Log)
	err := errors.Join(s.run.Remove(filepath.Base(s.cfg.Socket)), s.run.Rename(log, oldLog(log)))
	if err != nil {
		return err
	}
	s.handedOver = true
	return unix.Flock(s.lock, unix.LOCK_UN)
}

// oldLog is the log's name after a handover.
func oldLog(log string) string { return strings.TrimSuffix(log, ".log") + ".old.log" }
