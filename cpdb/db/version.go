package db

import (
	"fmt"
	"strconv"
	"strings"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// parseVersion reads v1, v2, …, exactly as they are printed.
func parseVersion(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "v"), 10, 64)
	return n, err == nil && n > 0 && s == formatVersion(n)
}

func formatVersion(n int64) string { return fmt.Sprintf("v%d", n) }

// versionOf gives the checkpoint of a store that text names, of any status.
func (d *DB) versionOf(s *record.Store, text string) (*record.Checkpoint, error) {
	n, ok := parseVersion(text)
	if !ok {
		return nil, noCheckpoint(text, s.Name).WithHint("versions are written v1, v2, …")
	}
	c, err := d.checkpoint(s.ID, n)
	if err == nil && c == nil {
		return nil, noCheckpoint(text, s.Name).WithHint("agentfs checkpoint list --store %s", s.Name)
	}
	return c, err
}

func noCheckpoint(version, store string) *status.Error {
	return status.Errorf(status.NoCheckpoint, "checkpoint %q not found in store %q", version, store)
}
