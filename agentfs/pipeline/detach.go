package pipeline

import (
	"os/exec"
	"syscall"
)

// Detach starts a stage and leaves it to itself: it has no input, nobody hears
// what it says, and it goes on when this process and its terminal are gone. It
// holds the lock until it ends. It is for work that may as well not be done, so
// there is no error.
func (r *Runner) Detach(s Stage) {
	path, err := exec.LookPath(r.Find(s.Args[0]))
	if err != nil {
		return
	}
	cmd := exec.Command(path, s.Args[1:]...)
	r.lend(cmd)
	cmd.Dir = "/" // or it would hold the mount in which its caller stands
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}
