package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// journal is the log of what failed at an event: nobody else is told.
type journal struct{ agent, event string }

const maxLog = 1 << 20

// write adds a line. It is one write, so that hooks that run at once do not mix theirs.
func (j *journal) write(what error) {
	home, err := homeDir()
	if err != nil || os.MkdirAll(home, 0o700) != nil {
		return
	}
	path := filepath.Join(home, "hooks.log")
	if st, err := os.Stat(path); err == nil && st.Size() > maxLog {
		_ = os.Rename(path, path+".old")
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	line := fmt.Sprintf("%s %s %s: %s", time.Now().UTC().Format(time.RFC3339), j.agent, cmp.Or(j.event, "-"), clean(what.Error(), 4096))
	_, _ = f.WriteString(strings.Map(visible, line) + "\n")
}

// visible makes a character that would disturb a line or a terminal harmless.
func visible(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '?'
	}
	return r
}

// homeDir is where agentfs keeps everything.
func homeDir() (string, error) {
	if home := os.Getenv("AGENTFS_HOME"); home != "" {
		return filepath.Abs(home)
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".agentfs"), err
}
