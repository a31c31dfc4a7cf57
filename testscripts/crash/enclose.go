//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exited is the exit status of a process of ours, which has said why.
type exited int

func (e exited) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// enclosed starts this program in mount and process namespaces of its own. When it
// ends, or is killed, the kernel kills all that it has started and forgets all that it
// has mounted.
func enclosed(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{wordInit}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true, // Ctrl-C is for us alone
	}
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exited(max(exit.ExitCode(), 1))
	}
	return err
}

// initial is the first process of its namespaces: it runs the program with args and
// waits for all that is left by others, as such a process must.
func initial(args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return os.NewSyscallError("mount /proc", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	pid, err := syscall.ForkExec(self, append([]string{"crash"}, args...), &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return err
	}
	for {
		var st unix.WaitStatus
		done, err := unix.Wait4(-1, &st, 0, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("wait", err)
		}
		if done == pid {
			return ended(st)
		}
	}
}

func ended(st unix.WaitStatus) error {
	switch {
	case st.Signaled():
		return fmt.Errorf("killed by %v", st.Signal())
	case st.ExitStatus() != 0:
		return exited(st.ExitStatus())
	}
	return nil
}

// ownTmpfs covers a directory with an empty filesystem, which only this namespace has.
func ownTmpfs(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=700"); err != nil {
		return fmt.Errorf("mount tmpfs at %s: %w", dir, err)
	}
	return nil
}
