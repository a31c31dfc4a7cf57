package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) checkpointVerb(below ...*command.Verb) *command.Verb {
	auto := &autoSaving{app: a}
	return &command.Verb{
		Name:  "checkpoint",
		Short: "checkpoint operations; --auto: save if anything has changed",
		Long: `
With --auto, for hooks and loops: makes a checkpoint "auto" if any file has changed
since the one that the present came from. It says nothing, and does nothing where
there is nothing to do: outside of any store, in one that is not mounted, if nothing
has changed, or sooner after the last one than hooks.min_interval of config.toml
allows. The exit status is 0 then, too, and 1 with a line on standard error if a
checkpoint could not be made.

Callers at the same time make one checkpoint together.`,
		Own:   true,
		Flags: auto.flags,
		Run:   auto.run,
		Verbs: below,
	}
}

var (
	autoLocked  = fault.Define("agentfs.auto.locked")
	autoChanged = fault.Define("agentfs.auto.changed")
	autoSaved   = fault.Define("agentfs.auto.saved")
)

// autoMessage is the message of a checkpoint that nobody has named.
const autoMessage = "auto"

// autoSaving is checkpoint --auto.
type autoSaving struct {
	*app
	reason
	on, always    bool
	message, tool string
}

func (s *autoSaving) flags(fs *flag.FlagSet) {
	fs.BoolVar(&s.on, "auto", false, "save if anything has changed, in silence")
	fs.BoolVar(&s.always, "always", false, "with --auto: also if nothing has changed, unless the last checkpoint says the same")
	fs.StringVar(&s.message, "message", autoMessage, "with --auto: the `text` that says what is saved")
	fs.StringVar(&s.tool, "tool", "", "as --action, of a `tool`, or several as A+B, that hooks.checkpoint_on may leave out")
	s.reason.flags(fs)
}

func (s *autoSaving) run(ctx context.Context, _ command.IO, _ []string) error {
	if !s.on {
		return status.Errorf(status.Usage, "checkpoint: needs a verb, or --auto").WithHint("agentfs checkpoint -h")
	}
	if s.tool != "" {
		s.Action = s.tool
	}
	s.Causality = s.told()
	name, err := s.nearby()
	if err == nil && name != "" {
		err = s.save(ctx, name)
	}
	if err == nil || errors.Is(err, pipeline.ErrInterrupted) {
		return err
	}
	line, _, _ := strings.Cut(err.Error(), "\n") // without the hint
	return status.Errorf(status.General, "checkpoint --auto: %s", line)
}

// nearby gives the store that is meant, "" for none, without a look into the
// database: most directories are in no store, and nobody should notice.
func (a *app) nearby() (string, error) {
	if a.store != "" {
		return a.store, checkName(a.store)
	}
	name, err := contextName(a.cwd)
	if name == "" && err == nil && a.cwd != "" {
		name = a.linkedHere(physical(a.cwd))
	}
	return name, err
}

func (s *autoSaving) save(ctx context.Context, name string) error {
	cfg, _ := s.readConfig() // a bad one, which followUp names, is no reason not to save
	if s.unwanted(cfg) {
		return nil
	}
	s.patient = true
	if err := s.hold(ctx, name); err != nil {
		return unlessNoStore(err)
	}
	if err := autoLocked.Reach(); err != nil {
		return err
	}
	what := saving{store: name, message: s.message, mounted: true, why: s.Causality}
	look := make(chan error, 1)
	go func() { look <- s.needed(ctx, name, cfg.minInterval) }()
	select {
	case err := <-look:
		if err != nil {
			return unlessUnneeded(err)
		}
	case <-time.After(haste):
		what.when = sync.OnceValue(func() error {
			if err := <-look; err != nil {
				return notBegun{err}
			}
			return nil
		})
	}
	rec, cp, err := s.saveReady(ctx, what)
	if err != nil {
		return unlessUnneeded(err)
	}
	s.sweepAfter(ctx, rec)
	s.followUp(rec, cp)
	if err := autoSaved.Reach(); err != nil {
		return fmt.Errorf("%s was made all the same: %w", version(cp.Version), err)
	}
	return nil
}

// haste is when the answer that nothing has changed has come, nearly always. Where it
// has not, something is being written: most likely there is something to save, and all
// is made ready for it meanwhile.
const haste = 8 * time.Millisecond

// errUnneeded is the answer that there is nothing to save.
var errUnneeded = errors.New("nothing to save")

func unlessUnneeded(err error) error {
	if errors.Is(err, errUnneeded) {
		return nil
	}
	return err
}

// unlessNoStore drops the error that says that there is no store: nothing to save.
func unlessNoStore(err error) error {
	if status.Of(err) == status.NoStore {
		return nil
	}
	return err
}

// unwanted tells of what config.toml leaves out.
func (s *autoSaving) unwanted(cfg config) bool {
	if on, known := cfg.hooks[s.Agent]; known && !on {
		return true
	}
	return s.tool != "" && len(cfg.checkpointOn) > 0 && !slices.ContainsFunc(strings.Split(s.tool, "+"), func(tool string) bool {
		return slices.Contains(cfg.checkpointOn, tool)
	})
}

// needed looks whether there is anything to save, now that the lock keeps others from
// saving it: errUnneeded is the answer that there is not. Database and bands are asked
// at the same time.
func (s *autoSaving) needed(ctx context.Context, name string, interval time.Duration) error {
	var st record.Store
	link := filepath.Join(s.lockDir(name), "checkpoints", "latest")
	latest, _ := os.Readlink(link) // a store whose files lie elsewhere has none here
	var changed bool
	var failed error
	err := both(
		func() error {
			if latest != "" {
				changed, failed = s.changedSince(ctx, s.usualBundle(name), filepath.Join(filepath.Dir(link), latest))
			}
			return nil
		},
		func() (err error) { _, st, err = s.get(ctx, name); return err })
	switch {
	case status.Of(err) == status.NoStore:
		return errUnneeded
	case err != nil:
		return err
	case st.Status != record.StoreReady:
		return nil // saving repairs it first
	case st.Base == 0:
		changed, failed = true, s.mustBeMounted(ctx, st)
	case latest != version(st.Base):
		dir := filepath.Join(filepath.Dir(st.BundlePath), "checkpoints", version(st.Base))
		changed, failed = s.changedSince(ctx, st.BundlePath, dir)
	}
	if failed != nil {
		return s.unlessDetached(ctx, st, failed)
	}
	return s.due(ctx, st, changed, interval)
}

// changedSince asks whether the mounted files differ from a checkpoint.
func (a *app) changedSince(ctx context.Context, bundle, dir string) (changed bool, err error) {
	rec, err := a.run.Run(ctx, nil, pipeline.Tool("bundlectl", "changed", "--since", dir, "--", bundle))
	if err == nil {
		err = rec.Get("changed", &changed)
	}
	return changed, err
}

// unlessDetached makes of an error that there is nothing to save, where the store is just
// not mounted.
func (a *app) unlessDetached(ctx context.Context, st record.Store, err error) error {
	if status.Of(err) != status.Mount {
		return err
	}
	images, lost := a.attached(ctx)
	if _, attached := images[st.BundlePath]; attached || lost != nil {
		return err
	}
	return errUnneeded
}

// due tells whether a checkpoint is to be made of a state that has changed or not.
func (s *autoSaving) due(ctx context.Context, st record.Store, changed bool, interval time.Duration) error {
	if changed && (interval == 0 || s.always || st.Latest == 0) {
		return autoChanged.Reach()
	}
	if !changed && !s.always {
		return errUnneeded
	}
	_, _, last, err := s.checkpoint(ctx, st.Name, version(st.Latest))
	if err != nil {
		return err
	}
	again := last.Message == s.message && reflect.DeepEqual(last.Causality, s.Causality)
	soon := time.Since(last.CreatedAt).Abs() < interval // a clock may be set back
	if changed && soon || !changed && again {
		return errUnneeded
	}
	return autoChanged.Reach()
}
