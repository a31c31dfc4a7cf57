package main

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// sides are the two trees that a command compares, or makes alike: of two
// checkpoints, or of one and the present.
type sides struct {
	store record.Store
	from  record.Checkpoint // the older one, for the reader
	to    record.Checkpoint // version 0: the present
}

// present tells whether one of the two is the mounted tree.
func (s sides) present() bool { return s.to.Version == 0 }

// name says what the second one is.
func (s sides) name() string {
	if s.present() {
		return "now"
	}
	return titled(s.to)
}

// choose finds the checkpoints: the one named and the present, the two named, or
// where none is named the latest one and the present.
func (a *app) choose(ctx context.Context, name string, versions []string) (s sides, err error) {
	if len(versions) == 0 {
		newest, err := a.history(ctx, name, 1)
		if err != nil {
			return s, err
		}
		if len(newest) == 0 {
			return s, status.Errorf(status.NoCheckpoint, "store %s has no checkpoints", quoted(name)).
				WithHint("agentfs checkpoint create --store %s", name)
		}
		versions = []string{version(newest[0].Version)}
	}
	if len(versions) == 2 {
		if _, _, s.to, err = a.checkpoint(ctx, name, versions[1]); err != nil {
			return s, err
		}
	}
	_, s.store, s.from, err = a.checkpoint(ctx, name, versions[0])
	if err == nil && s.present() {
		err = a.mustBeMounted(ctx, s.store)
	}
	return s, err
}

// mustBeMounted refuses a store whose files cannot be reached now.
func (a *app) mustBeMounted(ctx context.Context, st record.Store) error {
	yes, err := a.isMounted(ctx, st)
	if err != nil || yes {
		return err
	}
	return status.Errorf(status.Mount, "store %s is not mounted", quoted(st.Name)).WithHint("agentfs open %s", st.Name)
}

// What stands in a stage for a checkpoint's tree, in the order of the checkpoints, and
// for the list of the inodes that have changed.
const (
	treeMark    = "{}"
	changedMark = "{changed}"
)

// aside makes a stage that runs a tool on the trees of checkpoints, of which are one or
// two.
func (s sides) aside(tool ...string) pipeline.Stage {
	words := []string{"bundlectl", "attach", "--bundle", s.store.BundlePath, "--checkpoint", s.from.Dir}
	if !s.present() {
		words = append(words, "--checkpoint", s.to.Dir)
	}
	if slices.Contains(tool, changedMark) {
		words = append(words, "--parted", s.parted())
	}
	return pipeline.Tool(slices.Concat(words, []string{"--"}, tool)...)
}

// oneImage are the flags that tell treediff that both trees are of one filesystem,
// which inodes of it have changed, and when the two can have parted at the earliest:
// what has not changed since then is not read.
func (s sides) oneImage() []string {
	return []string{"--one-image", "--changed", changedMark, "--parted", s.parted()}
}

func (s sides) parted() string {
	parted := s.from.CreatedAt
	if !s.present() && s.to.CreatedAt.Before(parted) {
		parted = s.to.CreatedAt
	}
	return parted.UTC().Format(time.RFC3339Nano)
}

// compare makes the stage that compares the two, or with back the other way round:
// what would change if the first came back.
func (s sides) compare(back bool, flags, paths []string) pipeline.Stage {
	trees := []string{treeMark, treeMark}
	if s.present() {
		trees[1] = s.store.MountPath
	}
	if back {
		slices.Reverse(trees)
	}
	words := slices.Concat([]string{"treediff"}, flags, s.oneImage(), trees, []string{"--"}, paths)
	return s.aside(words...)
}

var versionShape = regexp.MustCompile(`^v[0-9]+$`)

// split parts arguments at the "--": versions before it, paths behind it.
func split(verb string, args []string, most int) (versions, paths []string, err error) {
	at := slices.Index(args, "--")
	if at < 0 {
		versions = args
	} else {
		versions, paths = args[:at], args[at+1:]
	}
	if at >= 0 && len(paths) == 0 {
		return nil, nil, status.Errorf(status.Usage, "%s: no path behind --", verb).WithHint("agentfs %s -h", verb)
	}
	for i, v := range versions {
		if i < most && versionShape.MatchString(v) {
			continue
		}
		return nil, nil, status.Errorf(status.Usage, "%s: unexpected argument %q", verb, v).
			WithHint("agentfs %s -- %s, if that is a path", verb, pipeline.Quote(v))
	}
	return versions, paths, nil
}

// inTree gives paths as seen from the root of the store's tree. They begin where
// the caller stands, if that is in the mount, else at the root.
func (a *app) inTree(st record.Store, paths []string) ([]string, error) {
	base := st.MountPath
	if here := physical(a.cwd); a.cwd != "" && within(here, st.MountPath) {
		base = here
	}
	var found []string
	for _, p := range paths {
		full := filepath.Join(base, p)
		if filepath.IsAbs(p) {
			full = filepath.Join(physical(filepath.Dir(p)), filepath.Base(p))
		}
		if !within(full, st.MountPath) {
			return nil, status.Errorf(status.Usage, "%q is not in %s", p, st.MountPath).WithHint("paths begin at %s", base)
		}
		rel, err := filepath.Rel(st.MountPath, full)
		if err != nil {
			return nil, err
		}
		found = append(found, rel)
	}
	return found, nil
}
