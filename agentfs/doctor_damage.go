package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
)

// repairDamage repairs what it can, and gives the damage with what became of it.
func (d *doctor) repairDamage(ctx context.Context, st record.Store, damage []*record.Record) ([]*record.Record, error) {
	for _, rec := range damage {
		var of record.Damage
		if err := rec.Get("damage", &of); err != nil {
			return nil, err
		}
		if of.Name != record.CheckpointFile {
			continue
		}
		if err := d.describe(ctx, st, rec, filepath.Base(of.Dir)); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	failed := d.app.run.Feed(context.WithoutCancel(ctx), damage, &out, pipeline.Tool("bandclone", "repair"))
	list, err := record.ReadAll(&out)
	if failed != nil && len(list) < len(damage) {
		err = firstOf(failed, err)
	} else if failed != nil {
		_ = d.report(failed) // the records say the same, each of its own
	}
	return list, err
}

// describe adds what the database says of a checkpoint to the record of its damage.
func (d *doctor) describe(ctx context.Context, st record.Store, rec *record.Record, version string) error {
	about, _, cp, err := d.checkpoint(ctx, st.Name, version)
	if err != nil {
		return err
	}
	var store any
	return firstOf(about.Get("store", &store), rec.Set("store", store), rec.Set("checkpoint", cp))
}

// addDamage adds each damage with what became of it. Of what is left it tells which
// files are hit, and where they are sound.
func (d *doctor) addDamage(ctx context.Context, st record.Store, cps []record.Checkpoint, damage []*record.Record) {
	var left []*record.Record
	for _, rec := range damage {
		if !repaired(rec) {
			left = append(left, rec)
			continue
		}
		for _, t := range told([]*record.Record{rec}) {
			d.add("checkpoints", st.Name, stateRepaired, t.text(), "")
		}
	}
	left, err := d.locate(ctx, st, left)
	if err != nil {
		d.failed("checkpoints", st.Name, err)
		return
	}
	all := told(left)
	for i, t := range all {
		hint := "agentfs doctor --repair --store " + st.Name
		if d.repair {
			hint = d.advice(ctx, st, cps, all, t)
			if t.Version == "now" {
				hint = fmt.Sprintf("agentfs close %s, agentfs doctor --repair, agentfs open %s", st.Name, st.Name)
			}
		}
		d.add("checkpoints", st.Name, stateProblem, t.text()+whyNot(left[i]), hint)
	}
}

// repaired tells whether bandclone repair has repaired a damage.
func repaired(rec *record.Record) bool {
	var done bool
	return rec.Has("repaired") && rec.Get("repaired", &done) == nil && done
}

// whyNot says why it could not.
func whyNot(rec *record.Record) string {
	var why string
	if !rec.Has("why") || rec.Get("why", &why) != nil {
		return ""
	}
	why, _, _ = strings.Cut(why, "\n")
	return "; not repaired: " + why
}

// text says what is damaged.
func (d damaged) text() string {
	text := fmt.Sprintf("%s: band %s is %s", d.Version, d.Band, d.Kind)
	if d.Band == record.CheckpointFile || d.Band == record.SumsFile {
		text = fmt.Sprintf("%s: %s is %s", d.Version, d.Band, d.Kind)
	}
	if hit := d.hit(); hit != "" {
		text += ": " + hit
	}
	if d.Band == record.SumsFile && d.Why != "" {
		text += ": " + d.Why
	}
	return text
}

// mostSides is how many checkpoints are asked for the same files.
const mostSides = 5

// advice says in which checkpoint the files are sound that a damage hits: the nearest
// one that has the same files and no damage of them.
func (d *doctor) advice(ctx context.Context, st record.Store, cps []record.Checkpoint, all []damaged, t damaged) string {
	at := slices.IndexFunc(cps, func(cp record.Checkpoint) bool { return version(cp.Version) == t.Version })
	if at < 0 || t.Whole || len(t.Files) == 0 {
		return ""
	}
	others := slices.Delete(slices.Clone(cps), at, at+1)
	distance := func(cp record.Checkpoint) int64 {
		return max(cp.Version, cps[at].Version) - min(cp.Version, cps[at].Version)
	}
	slices.SortStableFunc(others, func(a, b record.Checkpoint) int { return int(distance(a) - distance(b)) })
	var hints []string
	missing := t.Files
	for _, other := range others[:min(mostSides, len(others))] {
		same, err := d.sameFiles(ctx, st, cps[at], other, missing)
		if err != nil {
			continue // it cannot be mounted
		}
		missing = slices.DeleteFunc(slices.Clone(missing), func(path string) bool {
			if !slices.Contains(same, path) || hitIn(all, version(other.Version), path) {
				return false
			}
			hints = append(hints, fmt.Sprintf("agentfs show %s:%s", version(other.Version), pipeline.Quote(path)))
			return true
		})
		if len(missing) == 0 {
			break
		}
	}
	if len(hints) > mostFiles {
		hints = append(hints[:mostFiles], fmt.Sprintf("and %d more", len(hints)-mostFiles))
	}
	return strings.Join(hints, ", ")
}

// sameFiles gives those of some paths that are the same in two checkpoints: what their
// inodes say, nothing of their data is read.
func (d *doctor) sameFiles(ctx context.Context, st record.Store, a, b record.Checkpoint, paths []string) ([]string, error) {
	s := sides{store: st, from: a, to: b}
	recs, err := d.app.run.List(ctx, nil, s.compare(false, nil, paths))
	changes, err := collect[record.Change](recs, "change", err)
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(changes, func(c record.Change) bool {
			return c.Path == path || c.From == path || within(path, c.Path)
		})
	}), err
}

// hitIn tells whether a damage hits a file in a checkpoint.
func hitIn(all []damaged, version, path string) bool {
	return slices.ContainsFunc(all, func(t damaged) bool {
		return t.Version == version && (t.Whole || slices.Contains(t.Files, path))
	})
}
