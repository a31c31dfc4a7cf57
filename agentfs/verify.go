package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) verifyVerb() *command.Verb {
	return &command.Verb{
		Name: "verify", Args: "[VERSION…]", Max: -1,
		Short: "find damage in checkpoints",
		Long: `
Reads every band of the checkpoints, or of all, from the disk and compares it with the
sums that were written down when it was made; looks at the live bundle's own files,
too. Of each damage it tells which files lie in it. A checkpoint without sums is summed
now: what was damaged before cannot be known.

Exit status: 0 sound, 1 damaged; then 'agentfs doctor --repair' repairs what it can.`,
		Run: a.verify,
	}
}

// verified is what verify --json shows.
type verified struct {
	Store       string    `json:"store"`
	Checkpoints []string  `json:"checkpoints"` // that were looked at
	Summed      []string  `json:"summed"`      // of them, those that had no sums before
	Damage      []damaged `json:"damage"`
	Problems    []string  `json:"problems"` // of the live bundle
}

// damaged is one damage, as --json shows it.
type damaged struct {
	Version    string   `json:"version"` // "now" for the live bands
	Band       string   `json:"band"`    // or the file in the checkpoint's directory
	Kind       string   `json:"kind"`
	Why        string   `json:"why,omitempty"`
	Sound      string   `json:"sound,omitempty"` // a file with what it should hold
	Files      []string `json:"files"`           // that lie in it
	Structures bool     `json:"structures"`      // what the filesystem keeps for itself lies in it
	Whole      bool     `json:"whole"`           // the checkpoint cannot be mounted
}

func (a *app) verify(ctx context.Context, _ command.IO, args []string) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	_, st, err := a.get(ctx, name)
	if err != nil {
		return err
	}
	cps, err := a.named(ctx, name, args)
	if err != nil {
		return err
	}
	doc := verified{Store: name, Checkpoints: []string{}, Summed: []string{}, Damage: []damaged{}, Problems: []string{}}
	for _, cp := range cps {
		doc.Checkpoints = append(doc.Checkpoints, version(cp.Version))
	}
	if doc.Summed, err = a.sumFirst(ctx, cps); err != nil {
		return err
	}
	found, err := a.findDamage(ctx, st, cps, false)
	if err != nil {
		return err
	}
	if found, err = a.locate(ctx, st, found); err != nil {
		return err
	}
	doc.Damage = told(found)
	problems, err := a.problems(ctx, false, st.BundlePath)
	if err != nil {
		return err
	}
	for _, p := range problems {
		if p.Kind == bundleProblem {
			doc.Problems = append(doc.Problems, p.Text)
		}
	}
	return a.tellVerified(doc)
}

// named gives the checkpoints that are named, or all, the oldest first.
func (a *app) named(ctx context.Context, store string, versions []string) ([]record.Checkpoint, error) {
	if len(versions) == 0 {
		list, err := a.history(ctx, store, 0)
		for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
			list[i], list[j] = list[j], list[i]
		}
		return list, err
	}
	var list []record.Checkpoint
	for _, v := range versions {
		if !versionShape.MatchString(v) {
			return nil, status.Errorf(status.Usage, "verify: unexpected argument %q", v).WithHint("agentfs verify v3")
		}
		_, _, cp, err := a.checkpoint(ctx, store, v)
		if err != nil {
			return nil, err
		}
		list = append(list, cp)
	}
	return list, nil
}

func dirs(cps []record.Checkpoint) []string {
	list := make([]string, len(cps))
	for i, cp := range cps {
		list[i] = cp.Dir
	}
	return list
}

// sumFirst sums the checkpoints that have no sums, and gives their versions. One that
// cannot be summed is found damaged later.
func (a *app) sumFirst(ctx context.Context, cps []record.Checkpoint) ([]string, error) {
	versions := []string{}
	if len(cps) == 0 {
		return versions, nil
	}
	recs, err := a.findings(ctx, a.showing("bandclone", "sum"), dirs(cps)...)
	if ctx.Err() != nil {
		return versions, err
	}
	type summed struct {
		Dir string `json:"dir"`
	}
	list, err := collect[summed](recs, "summed", nil)
	for _, s := range list {
		versions = append(versions, filepath.Base(s.Dir))
	}
	return versions, err
}

// showing makes a stage that shows its progress, where there is somebody to see it.
func (a *app) showing(words ...string) pipeline.Stage {
	if isTerminal(a.io.Err) {
		words = append(words, "--progress")
	}
	return pipeline.Tool(words...).Showing(a.io.Err)
}

// findings runs a stage that lists what is wrong and whose status says so. Only where it
// lists nothing its failure is one.
func (a *app) findings(ctx context.Context, s pipeline.Stage, args ...string) ([]*record.Record, error) {
	if len(args) > 0 {
		s.Args = append(append(s.Args, "--"), args...)
	}
	return a.fedFindings(ctx, nil, s)
}

// fedFindings is findings for a stage that reads a list.
func (a *app) fedFindings(ctx context.Context, in []*record.Record, s pipeline.Stage) ([]*record.Record, error) {
	var out bytes.Buffer
	failed := a.run.Feed(ctx, in, &out, s)
	list, err := record.ReadAll(&out)
	if err != nil || failed != nil && len(list) == 0 || ctx.Err() != nil {
		return nil, firstOf(failed, err)
	}
	return list, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// findDamage gives what of the checkpoints, and of the live bands that share it, is
// damaged; sound bands are looked for in other stores, too.
func (a *app) findDamage(ctx context.Context, st record.Store, cps []record.Checkpoint, quick bool) ([]*record.Record, error) {
	if len(cps) == 0 {
		return nil, nil
	}
	stores, err := a.stores(ctx)
	if err != nil {
		return nil, err
	}
	stage := a.showing("bandclone", "verify", "--bundle", st.BundlePath)
	for _, other := range stores {
		if other.ID != st.ID {
			stage.Args = append(stage.Args, "--also", other.BundlePath)
		}
	}
	if quick {
		stage.Args = append(stage.Args, "--quick")
	}
	return a.findings(ctx, stage, dirs(cps)...)
}

// locate adds which files lie in what is damaged.
func (a *app) locate(ctx context.Context, st record.Store, found []*record.Record) ([]*record.Record, error) {
	if len(found) == 0 {
		return found, nil
	}
	list, err := a.fedFindings(ctx, found, pipeline.Tool("bundlectl", "files", "--bundle", st.BundlePath))
	if err != nil && ctx.Err() == nil {
		_ = a.report(err)
		a.warn("which files are hit is not known")
		return found, nil
	}
	return list, err
}

// bundleProblem is bundlectl's word for what is wrong with a bundle's own files.
const bundleProblem = "bundle"

// problem is what bundlectl check has found.
type problem struct {
	record.Problem
	hint     string
	repaired bool
}

// problems asks for what keeps bundles from being used.
func (a *app) problems(ctx context.Context, repair bool, bundles ...string) ([]problem, error) {
	stage := pipeline.Tool("bundlectl", "check")
	if repair {
		stage.Args = append(stage.Args, "--repair")
	}
	recs, err := a.findings(ctx, stage, bundles...)
	list := make([]problem, len(recs))
	for i, rec := range recs {
		err = firstOf(err, rec.Get("problem", &list[i].Problem), rec.Get("hint", &list[i].hint), rec.Get("repaired", &list[i].repaired))
	}
	return list, err
}

// told gives damage as --json shows it.
func told(recs []*record.Record) []damaged {
	list := []damaged{}
	for _, rec := range recs {
		var d record.Damage
		if rec.Get("damage", &d) != nil {
			continue
		}
		t := damaged{Version: filepath.Base(d.Dir), Band: d.Name, Kind: d.Kind, Why: d.Why, Sound: d.Sound,
			Files: append([]string{}, d.Files...), Structures: d.Structures, Whole: d.Whole}
		if !versionShape.MatchString(t.Version) {
			t.Version = "now"
		}
		list = append(list, t)
	}
	return list
}

// mostFiles is how many of the files that are hit people are shown.
const mostFiles = 3

// hit says what lies in what is damaged.
func (d damaged) hit() string {
	if d.Whole {
		return "all: it cannot be mounted"
	}
	words := []string{}
	if d.Structures {
		words = append(words, "filesystem structures")
	}
	for i, path := range d.Files {
		if i == mostFiles {
			words = append(words, fmt.Sprintf("… (+%d)", len(d.Files)-mostFiles))
			break
		}
		words = append(words, visible(path))
	}
	return strings.Join(words, ", ")
}

// damageTable lays damage out for people.
func damageTable(list []damaged) []string {
	rows := [][]string{{"VERSION", "BAND", "DAMAGE", "FILES"}}
	for _, d := range list {
		rows = append(rows, []string{d.Version, visible(d.Band), d.Kind, d.hit()})
	}
	return table(rows)
}

// tellVerified shows what was found. Its status is the answer.
func (a *app) tellVerified(doc verified) error {
	var lines []string
	for _, v := range doc.Summed {
		lines = append(lines, v+": not summed before, now summed")
	}
	if len(doc.Damage) > 0 {
		lines = append(lines, damageTable(doc.Damage)...)
	}
	for _, text := range doc.Problems {
		lines = append(lines, "Live bundle: "+visible(text))
	}
	if len(doc.Damage)+len(doc.Problems) == 0 {
		lines = append(lines, fmt.Sprintf("%s sound", plural(len(doc.Checkpoints), "checkpoint")))
		return a.result(doc, lines...)
	}
	if err := a.result(doc, lines...); err != nil {
		return err
	}
	return status.Errorf(status.General, "verify: damage was found").WithHint("agentfs doctor --repair --store %s", doc.Store)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
