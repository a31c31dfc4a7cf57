package main

import (
	"context"
	"strconv"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/size"
)

func (a *app) listVerb() *command.Verb {
	return &command.Verb{
		Name:  "list",
		Short: "list all stores",
		Run:   a.list,
	}
}

// listed is a store as list --json shows it.
type listed struct {
	Name        string    `json:"name"`
	Status      string    `json:"status"`
	SizeBytes   int64     `json:"size_bytes"`
	Mounted     bool      `json:"mounted"`
	MountPath   string    `json:"mount_path"`
	BundlePath  string    `json:"bundle_path"`
	Checkpoints int64     `json:"checkpoints"`
	Latest      string    `json:"latest,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	ForkedFrom  string    `json:"forked_from,omitempty"`
}

func (a *app) list(ctx context.Context, _ command.IO, _ []string) error {
	var stores []record.Store
	var images map[string]record.Image
	err := both(
		func() (err error) { stores, err = a.stores(ctx); return err },
		func() (err error) { images, err = a.attached(ctx); return err })
	if err != nil {
		return err
	}
	list, rows := []listed{}, [][]string{{"NAME", "SIZE", "MOUNTED", "CHECKPOINTS"}}
	for _, st := range stores {
		if st.Status == record.StoreCreating || st.Status == record.StoreDeleting {
			continue
		}
		yes := images[st.BundlePath].MountPath != ""
		list = append(list, listing(st, yes))
		rows = append(rows, []string{visible(st.Name), size.Format(st.SizeBytes), yesNo(yes), strconv.FormatInt(st.Checkpoints, 10)})
	}
	return a.result(list, table(rows)...)
}

func listing(st record.Store, yes bool) listed {
	l := listed{
		Name: st.Name, Status: st.Status, SizeBytes: st.SizeBytes, Mounted: yes, MountPath: st.MountPath,
		BundlePath: st.BundlePath, Checkpoints: st.Checkpoints, CreatedAt: st.CreatedAt.UTC(),
		ForkedFrom: st.ForkedFrom,
	}
	if st.Latest > 0 {
		l.Latest = version(st.Latest)
	}
	return l
}

// both does two things at once, for two processes take no longer than one. The
// error is the first one's if both fail.
func both(first, second func() error) error {
	done := make(chan error, 1)
	go func() { done <- second() }()
	err, other := first(), <-done
	if err != nil {
		return err
	}
	return other
}
