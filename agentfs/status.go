package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

func (a *app) statusVerb() *command.Verb {
	return &command.Verb{
		Name:  "status",
		Short: "show the current store and its state",
		Run:   a.status,
	}
}

// state is what status --json shows.
type state struct {
	Store       string  `json:"store"`
	Status      string  `json:"status"`
	MountPath   string  `json:"mount_path"`
	Mounted     bool    `json:"mounted"`
	Server      *server `json:"server,omitempty"` // Linux, where there is something to say about it
	SizeBytes   int64   `json:"size_bytes"`
	BundlePath  string  `json:"bundle_path"`
	Checkpoints int64   `json:"checkpoints"`
	Latest      *latest `json:"latest"` // null where there is none
	ForkedFrom  string  `json:"forked_from,omitempty"`
}

type latest struct {
	Version   string    `json:"version"`
	Message   string    `json:"message"`
	CreatedAt time.Time `json:"created_at"`
}

// server is what has happened to the process that serves a mount.
type server struct {
	Dead       bool      `json:"dead"`                 // the mount is of no use any more
	Replaced   int       `json:"replaced"`             // how often it has died since the store was opened
	ReplacedAt time.Time `json:"replaced_at,omitzero"` // the last time
}

// aboutServer tells what has happened to the server of a store, nil for nothing.
func aboutServer(st record.Store, im record.Image) *server {
	switch {
	case im.ServerReplaced > 0:
		return &server{Replaced: im.ServerReplaced, ReplacedAt: im.ServerReplacedAt.UTC()}
	case im.MountPath == "" && isMountpoint(st.MountPath):
		return &server{Dead: true}
	}
	return nil
}

// isMountpoint tells whether a directory is the root, number 2, of another filesystem
// than the one above it is on.
func isMountpoint(dir string) bool {
	var st, above syscall.Stat_t
	return syscall.Lstat(dir, &st) == nil && syscall.Lstat(filepath.Dir(dir), &above) == nil && st.Dev != above.Dev && st.Ino == 2
}

// line is what status says about a server.
func (s *server) line(name string) string {
	switch {
	case s.Dead:
		return "Server:      dead; all that was synced comes back with: agentfs open " + name
	case s.Replaced == 1:
		return "Server:      replaced once, " + ago(s.ReplacedAt)
	}
	return fmt.Sprintf("Server:      replaced %d times, last %s", s.Replaced, ago(s.ReplacedAt))
}

func (a *app) status(ctx context.Context, _ command.IO, _ []string) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	_, st, err := a.whole(ctx, name)
	if err != nil {
		return err
	}
	var images map[string]record.Image
	var newest []record.Checkpoint
	err = both(
		func() (err error) { images, err = a.attached(ctx); return err },
		func() (err error) { newest, err = a.history(ctx, name, 1); return err })
	if err != nil {
		return err
	}
	im := images[st.BundlePath]
	yes := im.MountPath != ""
	doc := state{Server: aboutServer(st, im), Store: st.Name, Status: st.Status, MountPath: st.MountPath, Mounted: yes,
		SizeBytes: st.SizeBytes, BundlePath: st.BundlePath, Checkpoints: st.Checkpoints, ForkedFrom: st.ForkedFrom}
	last := "none"
	for _, cp := range newest {
		doc.Latest = &latest{version(cp.Version), cp.Message, cp.CreatedAt.UTC()}
		last = fmt.Sprintf("%s (%s)", titled(cp), ago(cp.CreatedAt))
	}
	lines := []string{
		"Store:       " + visible(st.Name),
		"Mount:       " + visible(tilde(st.MountPath)),
		"Mounted:     " + yesNo(yes),
		"Checkpoints: " + strconv.FormatInt(st.Checkpoints, 10),
		"Latest:      " + last,
	}
	if doc.Server != nil {
		lines = append(lines, doc.Server.line(visible(st.Name)))
	}
	if st.ForkedFrom != "" {
		lines = append(lines, "Forked from: "+visible(st.ForkedFrom))
	}
	return a.result(doc, lines...)
}

// whole gives a store's record for reading. Only where the store is not ready it
// takes the lock: another command is at work, or one has died and left it so.
func (a *app) whole(ctx context.Context, name string) (*record.Record, record.Store, error) {
	rec, st, err := a.get(ctx, name)
	if err != nil || st.Status == record.StoreReady {
		return rec, st, err
	}
	return a.take(ctx, name)
}
