package main

import (
	"context"
	"fmt"
	"strconv"
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

func (a *app) status(ctx context.Context, _ command.IO, _ []string) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	_, st, err := a.whole(ctx, name)
	if err != nil {
		return err
	}
	var yes bool
	var newest []record.Checkpoint
	err = both(
		func() (err error) { yes, err = a.isMounted(ctx, st); return err },
		func() (err error) { newest, err = a.history(ctx, name, 1); return err })
	if err != nil {
		return err
	}
	doc := state{Store: st.Name, Status: st.Status, MountPath: st.MountPath, Mounted: yes,
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
