//go:build linux

package linux

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"agentfs.internal/tool/record"
)

// abortTime is how long a server has to end whose connection was aborted.
const abortTime = 3 * time.Second

// DetachForce ends a mount whose server does not answer any more: who waits for it gets
// an error, the mount goes at once, and so does the server.
func (Engine) DetachForce(_ context.Context, path string) (*record.Image, error) {
	err := force(path)
	if err != nil {
		return nil, wrap("detach", path, err)
	}
	return look(path)
}

// force asks the server nothing.
func force(path string) error {
	if err := os.Chdir("/"); err != nil {
		return err
	}
	id, err := identity(path)
	if err != nil {
		return err
	}
	a := &attachment{bundle: path, id: id}
	devices, err := findDevices(id)
	if err == nil {
		err = a.findMounts(devices)
	}
	if err != nil {
		return err
	}
	if len(devices) == 0 {
		return errNotAttached
	}
	if a.pid, err = serverPID(id); err == nil {
		err = abortConnection(a.pid)
	}
	for _, m := range a.mounts {
		err = errors.Join(err, unix.Unmount(m, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW))
	}
	a.awaitDeath()
	return errors.Join(err, a.sweep())
}

// serverPID gives the process that listens on a bundle's socket, 0 if nobody does,
// whether or not it would answer.
func serverPID(id string) (int, error) {
	c, err := dial(id)
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer c.close()
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var who *unix.Ucred
	if e := raw.Control(func(fd uintptr) { who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil || err != nil {
		return 0, errors.Join(e, err)
	}
	return int(who.Pid), nil
}

// abortConnection makes the kernel answer all that the server is asked with errors. A
// kernel that does not tell which connection is its leaves that to the server's death.
func abortConnection(pid int) error {
	n := connectionOf(pid)
	if n == "" {
		return nil
	}
	fs, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return os.NewSyscallError("fsconfig", err)
	}
	dir, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fsmount", err)
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, n+"/abort", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("abort FUSE connection %s: %w", n, err)
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("1"))
	return err
}

// connectionOf gives the number of the FUSE connection that a process serves, "" if it
// is not known.
func connectionOf(pid int) string {
	files, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fdinfo/*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for s := bufio.NewScanner(strings.NewReader(string(text))); s.Scan(); {
			if n, ok := strings.CutPrefix(s.Text(), "fuse_connection:"); ok {
				return strings.TrimSpace(n)
			}
		}
	}
	return ""
}

// awaitDeath waits until nobody listens any more. A server that does not end is killed;
// its standby takes its place then, finds that all is over, and ends as it should.
func (a *attachment) awaitDeath() {
	kill := time.Now().Add(abortTime)
	for end := kill.Add(abortTime); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		pid, err := serverPID(a.id)
		if err == nil && pid == 0 {
			return
		}
		if time.Now().After(kill) && pid == a.pid {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
