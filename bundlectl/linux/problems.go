//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/bundlectl/serve"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// Problems looks at the machine, the bundles' own files and what stands on them.
func (e Engine) Problems(ctx context.Context, bundles []string, repair bool) []engine.Problem {
	var list []engine.Problem
	if err := e.Check(ctx); err != nil {
		list = append(list, engine.MachineProblem(err, status.HintOf(err)))
	}
	for _, path := range bundles {
		list = append(list, engine.BundleProblems(path, repair)...)
		if p := e.serverProblem(ctx, path, repair); p != nil {
			p.Path = path
			list = append(list, *p)
		}
	}
	return list
}

// serverProblem looks at the server of a bundle. It is nil where nothing is wrong.
func (e Engine) serverProblem(ctx context.Context, path string, repair bool) *engine.Problem {
	id, err := identity(path)
	if err != nil {
		return nil // no bundle, which is a problem of its own
	}
	c, err := dial(id)
	if err == nil {
		defer c.close()
		if answers(c) {
			return nil
		}
		p := &engine.Problem{Problem: record.Problem{Kind: engine.ProblemHang, Text: "its band server does not answer"}, Hint: "kill it: agentfs doctor --repair"}
		if repair {
			settle(p, e.endHanging(ctx, path, id, c))
		}
		return p
	}
	a, err := find(path)
	if err == nil && len(a.mounts) > 0 {
		p := &engine.Problem{Problem: record.Problem{Kind: engine.ProblemDead, Text: "mounted at " + a.mounts[0] + ", but its band server is dead"}, Hint: "bundlectl attach " + path + " --mount " + a.mounts[0]}
		if repair {
			settle(p, e.again(ctx, path, a.mounts[0]))
		}
		return p
	}
	if errors.Is(err, errNotAttached) {
		return leftover(id, repair)
	}
	return nil
}

// settle notes whether a repair was done.
func settle(p *engine.Problem, err error) {
	p.Repaired = err == nil
	if err != nil {
		p.Text += ": " + err.Error()
	}
}

// leftover looks for what a dead server could not remove.
func leftover(id string, repair bool) *engine.Problem {
	var there []string
	for _, path := range []string{socketPath(id), logPath(id)} {
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		}
	}
	if len(there) == 0 {
		return nil
	}
	p := &engine.Problem{Problem: record.Problem{Kind: engine.ProblemLeftover, Text: "a dead band server has left " + strings.Join(there, " and ")}}
	if text, err := os.ReadFile(logPath(id)); err == nil && len(text) > 0 {
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		p.Text += fmt.Sprintf("; its last words: %q", lines[len(lines)-1])
	}
	if repair {
		var failed error
		for _, path := range there {
			failed = errors.Join(failed, os.Remove(path))
		}
		settle(p, failed)
	}
	return p
}

// patience is how long a server that is not at its end may take to answer.
const patience = 5 * time.Second

func answers(c *client) bool {
	done := make(chan error, 1)
	go func() {
		_, err := c.ask(serve.Request{Op: "info"})
		done <- err
	}()
	select {
	case err := <-done:
		return err == nil
	case <-time.After(patience):
		return false
	}
}

// endHanging kills a server that does not answer. Where nobody takes its place the
// kernel is told to fail what waits for it, and the bundle is attached anew.
func (e Engine) endHanging(ctx context.Context, path, id string, c *client) error {
	pid, err := c.peer()
	if err != nil {
		return err
	}
	devices, err := findDevices(id)
	if err != nil {
		return err
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		return err
	}
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		if next, err := dial(id); err == nil {
			ok := answers(next)
			next.close()
			if ok {
				return nil
			}
		}
	}
	for _, device := range devices {
		abort(device)
	}
	a, err := find(path)
	if errors.Is(err, errNotAttached) {
		return nil
	}
	if err != nil || len(a.mounts) == 0 {
		return err
	}
	return e.again(ctx, path, a.mounts[0])
}

// again attaches a bundle whose server is dead.
func (e Engine) again(ctx context.Context, path, mount string) error {
	_, err := e.Attach(ctx, path, mount)
	return err
}

// peer gives the process that listens at the other end.
func (c *client) peer() (pid int, err error) {
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var asked error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); asked == nil {
			pid = int(cred.Pid)
		}
	})
	return pid, errors.Join(err, asked)
}

// abort ends the FUSE connection below a loop device: its number is that of the device
// of the served file.
func abort(device string) {
	fd, err := unix.Open(device, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	info, err := unix.IoctlLoopGetStatus64(fd)
	unix.Close(fd)
	if err != nil {
		return
	}
	number := fmt.Sprint(unix.Minor(info.Device))
	_ = os.WriteFile(filepath.Join("/sys/fs/fuse/connections", number, "abort"), []byte("1"), 0)
}
