package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A person who has forgotten the record gets away with one interrupt.
func TestInterruptEndsTheWaitForARecord(t *testing.T) {
	cmd := exec.Command("cpdb", "checkpoint", "commit")
	cmd.Env = append(os.Environ(), "AGENTFS_HOME="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	time.Sleep(200 * time.Millisecond)
	_ = cmd.Process.Signal(os.Interrupt)
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("still waiting")
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit status %d: %s", code, &errs)
	}
}
