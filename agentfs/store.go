package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

const (
	letters   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	nameRunes = letters + "._-"
)

// checkName applies cpdb's rule here too, because names become paths before cpdb
// sees them.
func checkName(name string) error {
	if name != "" && len(name) <= 64 && strings.Trim(name, nameRunes) == "" && strings.Contains(letters, name[:1]) {
		return nil
	}
	return status.Errorf(status.Usage, "bad store name %s", quoted(name)).
		WithHint("up to 64 letters, digits, dots, dashes and underscores, a letter or digit first, as in my-app")
}

// get gives a store's record as it is, locked or not.
func (a *app) get(ctx context.Context, name string) (*record.Record, record.Store, error) {
	rec, err := a.run.Run(ctx, nil, pipeline.Tool("cpdb", "store", "get", name))
	return storeOf(rec, err)
}

func storeOf(rec *record.Record, err error) (*record.Record, record.Store, error) {
	var st record.Store
	if err == nil {
		err = rec.Get("store", &st)
	}
	return rec, st, err
}

// take takes the lock of a store and gives its record. What a command that died
// has left behind is repaired first.
func (a *app) take(ctx context.Context, name string) (*record.Record, record.Store, error) {
	if err := a.hold(ctx, name); err != nil {
		return nil, record.Store{}, err
	}
	rec, st, err := a.get(ctx, name)
	if err != nil || st.Status == record.StoreReady {
		return rec, st, err
	}
	if err := a.repair(ctx, rec, st); err != nil {
		return nil, st, err
	}
	return a.get(ctx, name)
}

// attached gives the images that are attached now, by the path of their bundle.
// It is bundlectl that knows; the database may be behind.
func (a *app) attached(ctx context.Context) (map[string]record.Image, error) {
	recs, err := a.run.List(ctx, nil, pipeline.Tool("bundlectl", "list"))
	images, err := collect[record.Image](recs, "image", err)
	found := map[string]record.Image{}
	for _, im := range images {
		found[im.BundlePath] = im
	}
	return found, err
}

// isMounted tells whether the store is mounted now. One that is attached may be
// not mounted any more, or not yet.
func (a *app) isMounted(ctx context.Context, st record.Store) (bool, error) {
	images, err := a.attached(ctx)
	return images[st.BundlePath].MountPath != "", err
}

// replaced tells whether a store's band server has died and been replaced since began.
func (a *app) replaced(ctx context.Context, store string, began time.Time) bool {
	_, st, err := a.get(ctx, store)
	if err != nil {
		return false
	}
	images, err := a.attached(ctx)
	return err == nil && !images[st.BundlePath].ServerReplacedAt.Before(began)
}

// notMounted says what is behind err where that is a store that is not mounted.
func (a *app) notMounted(ctx context.Context, st record.Store, err error) error {
	var f *pipeline.Failure
	if !errors.As(err, &f) || f.Tool != "bundlectl" || strings.Contains(f.Words, "unmounted here") { // by this command
		return err
	}
	if yes, e := a.isMounted(ctx, st); yes || e != nil {
		return err
	}
	return status.Errorf(status.Mount, "store %s is not mounted", quoted(st.Name)).WithHint("agentfs open %s", st.Name)
}
