//go:build linux

package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// run runs a command from outside of the mounts, and gives what it prints.
func (w *worker) run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(w.Bin, name), args...)
	cmd.Dir, cmd.Env = "/", append(append(os.Environ(), "AGENTFS_HOME="+w.Home), w.Env...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(words.String()))
	}
	return out.String(), nil
}

func (w *worker) agentfs(ctx context.Context, args ...string) (string, error) {
	return w.run(ctx, "agentfs", args...)
}

// json runs agentfs and decodes what it prints.
func (w *worker) json(ctx context.Context, value any, args ...string) error {
	out, err := w.agentfs(ctx, args...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), value)
}
