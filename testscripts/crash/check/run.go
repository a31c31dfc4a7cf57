//go:build linux

package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// notFound is agentfs's exit status where there is no such store.
const notFound = 3

// run runs a command to its end, and gives what it prints.
func (c *checker) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = "/", append(os.Environ(), append([]string{"AGENTFS_HOME=" + c.Home}, c.Env...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a server that it has left holds no pipe, but who knows
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	err := cmd.Run()
	if ctx.Err() != nil {
		err = errors.New("takes for ever")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args[:min(len(args), 3)], " "), err, oneLine(words.String()))
	}
	return out.String(), err
}

// json runs a command and decodes what it prints.
func (c *checker) json(ctx context.Context, value any, args ...string) error {
	out, err := c.run(ctx, args...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), value)
}

// status gives the exit status behind an error of run.
func status(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func oneLine(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	return words[:min(len(words), 300)]
}

// sparse writes a file with holes where there are zeros.
type sparse struct {
	file *os.File
	at   int64
}

var zeros [64 << 10]byte

func (s *sparse) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		part := p[n:min(len(p), n+len(zeros))]
		if !bytes.Equal(part, zeros[:len(part)]) {
			if _, err := s.file.WriteAt(part, s.at); err != nil {
				return n, err
			}
		}
		n, s.at = n+len(part), s.at+int64(len(part))
	}
	return len(p), s.file.Truncate(s.at)
}

var _ io.Writer = (*sparse)(nil)
