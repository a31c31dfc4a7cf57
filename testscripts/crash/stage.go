//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"agentfs.internal/testscripts/crash/replay"
	"agentfs.internal/tool/record"
)

// While a workload is recorded, this program stands in for the tools that change the
// home beside bands: it runs the real one and marks in the log, before it hands on
// what that prints, what there is then. So all that the next stages do comes after
// the mark.
var stages = map[string]bool{"cpdb": true, "bandclone": true}

// stageEnv names the directory of the recording.
const stageEnv = "CRASH_RECORDING"

func stage(tool string, args []string) error {
	r := recording{dir: os.Getenv(stageEnv)}
	input, err := pipedInput()
	if err != nil {
		return err
	}
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	what := tool + " " + strings.Join(args, " ")
	if err := r.mark(replay.Mark{What: what + " begins"}); err != nil {
		return err
	}
	out, ran := r.realTool(tool, args, input)
	m := replay.Mark{What: what}
	if ran == nil && tool == "bandclone" {
		m.Synced = r.synced(args, input)
	}
	if tool == "cpdb" {
		if m.DB, err = r.copyDB(); err != nil {
			return err
		}
	}
	if err := r.mark(m); err != nil {
		return err
	}
	if _, err := os.Stdout.Write(out); err != nil {
		return err
	}
	return ran
}

// realTool runs the tool, and gives what it prints; it has said itself why it fails.
func (r recording) realTool(tool string, args []string, input io.Reader) ([]byte, error) {
	var out bytes.Buffer
	cmd := exec.Command(filepath.Join(r.dir, "real", tool), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, os.Stderr
	cmd.ExtraFiles = inherited()
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = exited(max(exit.ExitCode(), 1))
	}
	return out.Bytes(), err
}

// pipedInput reads what a stage before writes, to its end.
func pipedInput() (*bytes.Reader, error) {
	st, err := os.Stdin.Stat()
	if err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		return bytes.NewReader(nil), err
	}
	data, err := io.ReadAll(os.Stdin)
	return bytes.NewReader(data), err
}

// inherited gives the descriptors behind standard error that were handed to us, for
// the tool to have them by the same numbers: the store's lock.
func inherited() []*os.File {
	var files []*os.File
	if os.Getenv("AGENTFS_LOCK_FD") != "" {
		files = append(files, os.NewFile(3, "lock"))
	}
	return files
}

// synced gives the checkpoints that bandclone has made durable.
func (r recording) synced(args []string, input *bytes.Reader) []string {
	create := args[0] == "create" && !slices.Contains(args, "--sync=false")
	if !create && args[0] != "sync" {
		return nil
	}
	var dirs []string
	for _, arg := range args[1:] {
		dirs = append(dirs, r.relative(arg)...)
	}
	_, _ = input.Seek(0, io.SeekStart)
	recs, _ := record.ReadAll(input)
	for _, rec := range recs {
		var cp record.Checkpoint
		if rec.Get("checkpoint", &cp) == nil {
			dirs = append(dirs, r.relative(cp.Dir)...)
		}
	}
	return dirs
}

// relative gives the path below the home, none for what is no such path.
func (r recording) relative(path string) []string {
	name, err := filepath.Rel(r.home(), path)
	if err != nil || !filepath.IsLocal(name) {
		return nil
	}
	return []string{name}
}

// lock keeps the stages apart: while one has it, nobody else changes the database.
func (r recording) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(r.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	return func() { f.Close() }, err
}

func (r recording) mark(m replay.Mark) (err error) {
	m.Looked = replay.Position(r.log())
	if m.Files, err = replay.Look(r.home()); err != nil {
		return fmt.Errorf("mark: %w", err)
	}
	return m.Add(r.log())
}

// copyDB copies the database's files, which nobody changes meanwhile, and gives the
// name of the copy.
func (r recording) copyDB() (string, error) {
	dir, err := os.MkdirTemp(r.dbs(), "")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"agentfs.db", "agentfs.db-wal"} {
		data, err := os.ReadFile(filepath.Join(r.home(), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	return filepath.Base(dir), nil
}
