package main

import (
	"context"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
)

// description is a checkpoint as --json shows it.
type description struct {
	Store        string    `json:"store"`
	Version      string    `json:"version"`
	Message      string    `json:"message"`
	CreatedAt    time.Time `json:"created_at"`
	Parent       string    `json:"parent,omitempty"`
	Method       string    `json:"method"`
	Bands        int64     `json:"bands"`
	Bytes        int64     `json:"bytes"`
	ChangedBands int64     `json:"changed_bands"`
	DurationMS   float64   `json:"duration_ms"`
	Dir          string    `json:"dir"`
	Pinned       bool      `json:"pinned"`

	DurableAt *time.Time `json:"durable_at,omitempty"` // since when it outlives a power cut
	record.Causality
	Indexed      bool  `json:"indexed"`       // the next three are known
	Changes      int64 `json:"changes"`       // paths that differ from the parent
	LinesAdded   int64 `json:"lines_added"`   //
	LinesDeleted int64 `json:"lines_deleted"` //
}

func described(store string, cp record.Checkpoint) description {
	d := description{
		Store: store, Version: version(cp.Version), Message: cp.Message, CreatedAt: cp.CreatedAt.UTC(), Method: cp.Method,
		Bands: cp.Bands, Bytes: cp.Bytes, ChangedBands: cp.ChangedBands, DurationMS: cp.DurationMS, Dir: cp.Dir,
		Pinned: cp.Pinned, DurableAt: cp.DurableAt, Causality: cp.Causality,
		Indexed: cp.Index == record.IndexDone, Changes: cp.Changes, LinesAdded: cp.LinesAdded, LinesDeleted: cp.LinesDeleted,
	}
	if cp.Parent > 0 {
		d.Parent = version(cp.Parent)
	}
	return d
}

// checkpoint finds a checkpoint that is ready; rec has the store too.
func (a *app) checkpoint(ctx context.Context, store, version string) (rec *record.Record, st record.Store, cp record.Checkpoint, err error) {
	rec, err = a.run.Run(ctx, nil, pipeline.Tool("cpdb", "checkpoint", "get", "--store", store, "--", version))
	if err == nil {
		err = rec.Get("store", &st)
	}
	if err == nil {
		err = rec.Get("checkpoint", &cp)
	}
	return rec, st, cp, err
}
