package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) doctorVerb() *command.Verb {
	d := &doctor{app: a}
	return &command.Verb{
		Name:  "doctor",
		Short: "look for everything that is wrong, and repair it",
		Long: `
Looks at this machine, the database and, of each store or that of --store, at what dead
commands have left, the mount and its band server, the bundle's own files and every
checkpoint: names and lengths, with --deep every byte, as 'agentfs verify' does.

--repair ends what was left half done, attaches a store whose server is dead, makes a
new database from what stands beside the checkpoints where that is damaged, and gives
damaged bands their content back: from another checkpoint, another store or the live
files, or put together from several, and only where it then has the sum that was written
down. What does not belong to a checkpoint is moved to .lost-vN beside it, never
deleted. What cannot be saved is named, with the checkpoint that has the same files.

Exit status: 0 nothing is wrong (any more), 1 something is.`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&d.repair, "repair", false, "repair what can be repaired")
			fs.BoolVar(&d.deep, "deep", false, "read every band of every checkpoint")
		},
		Run: d.run,
	}
}

var (
	doctorLocked   = fault.Define("agentfs.doctor.locked")
	doctorRebuilt  = fault.Define("agentfs.doctor.rebuilt")
	doctorSwept    = fault.Define("agentfs.doctor.swept")
	doctorRepaired = fault.Define("agentfs.doctor.repaired")
)

// doctor is one look at everything.
type doctor struct {
	*app
	repair, deep bool
	found        []diagnosis
}

// diagnosis is what one check has found.
type diagnosis struct {
	Check string `json:"check"` // machine, database, store, mount, bundle, leftovers or checkpoints
	Store string `json:"store"` // empty where it is about none
	State string `json:"state"` // ok, problem or repaired
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"` // what to do
}

// The states of what a check has found.
const (
	stateOK       = "ok"
	stateProblem  = "problem"
	stateRepaired = "repaired"
)

func (d *doctor) add(check, store, state, text, hint string) {
	d.found = append(d.found, diagnosis{check, store, state, text, hint})
}

// fine adds that a check has found nothing, if it has not since there were n findings.
func (d *doctor) fine(n int, check, store, text string) {
	if len(d.found) == n {
		d.add(check, store, stateOK, text, "")
	}
}

// failed adds what keeps a check from being made.
func (d *doctor) failed(check, store string, err error) {
	d.warn("%s: %s", check, errorText(err))
	d.add(check, store, stateProblem, errorText(err), status.HintOf(err))
}

// errorText is the first line of what a stage, or this program, says.
func errorText(err error) string {
	text := err.Error()
	var f *pipeline.Failure
	if errors.As(err, &f) && f.Words != "" {
		text = f.Words
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return text
}

func (d *doctor) run(ctx context.Context, _ command.IO, _ []string) error {
	d.machine(ctx)
	d.database(ctx)
	stores, err := d.stores(ctx)
	if err == nil && d.store != "" {
		stores, err = d.only(stores)
	}
	if status.Of(err) == status.NoStore {
		return err
	}
	for _, st := range stores {
		if ctx.Err() != nil {
			return pipeline.ErrInterrupted
		}
		d.look(ctx, st)
	}
	return d.tell()
}

// only gives the one store that was asked for.
func (d *doctor) only(stores []record.Store) ([]record.Store, error) {
	for _, st := range stores {
		if st.Name == d.store {
			return []record.Store{st}, nil
		}
	}
	return nil, status.Errorf(status.NoStore, "no store %s", quoted(d.store)).WithHint("agentfs list")
}

func (d *doctor) machine(ctx context.Context) {
	n := len(d.found)
	list, err := d.problems(ctx, false)
	if err != nil {
		d.failed("machine", "", err)
	}
	d.addProblems("", list)
	d.fine(n, "machine", "", "it has what is needed")
}

// checksOf says of which check bundlectl's problems are.
var checksOf = map[string]string{
	"machine": "machine", bundleProblem: "bundle", "dead": "mount", "hang": "mount", "leftover": "leftovers",
}

func (d *doctor) addProblems(store string, list []problem) {
	for _, p := range list {
		state, hint := stateProblem, p.hint
		if p.repaired {
			state, hint = stateRepaired, ""
		}
		d.add(checksOf[p.Kind], store, state, p.Text, hint)
	}
}

// database looks whether SQLite finds the file whole.
func (d *doctor) database(ctx context.Context) {
	n := len(d.found)
	texts, err := d.corrupt(ctx)
	if err == nil && len(texts) == 0 {
		d.fine(n, "database", "", "whole")
		return
	}
	if err != nil {
		texts = []string{errorText(err)}
	}
	state, hint := stateProblem, "agentfs doctor --repair makes a new one from what stands beside the checkpoints"
	if d.repair {
		err := d.run1(ctx, pipeline.Tool("cpdb", "rebuild"))
		if err == nil {
			err = doctorRebuilt.Reach()
		}
		if err == nil {
			if left, e := d.corrupt(ctx); e == nil && len(left) == 0 {
				state, hint = stateRepaired, ""
			}
		} else {
			hint = errorText(err)
			d.warn("database: %s", hint)
		}
	}
	d.add("database", "", state, texts[0], hint)
}

func (d *doctor) run1(ctx context.Context, s pipeline.Stage) error {
	return d.app.run.Exec(context.WithoutCancel(ctx), nil, s)
}

// corrupt gives what SQLite finds wrong.
func (d *doctor) corrupt(ctx context.Context) ([]string, error) {
	list, err := d.check(ctx, "")
	var texts []string
	for _, p := range list {
		if p.Kind == "corrupt" {
			texts = append(texts, p.Text)
		}
	}
	return texts, err
}

// check asks cpdb what it finds wrong with a store, or all.
func (d *doctor) check(ctx context.Context, store string) ([]record.Problem, error) {
	stage := pipeline.Tool("cpdb", "check")
	if store != "" {
		stage.Args = append(stage.Args, "--store", store)
	}
	recs, err := d.findings(ctx, stage)
	return collect[record.Problem](recs, "problem", err)
}

// look looks at one store. To repair it takes the store's lock, and lets go of it.
func (d *doctor) look(ctx context.Context, st record.Store) {
	if d.repair {
		if err := d.hold(ctx, st.Name); err != nil {
			d.failed("store", st.Name, err)
			return
		}
		defer d.letGo()
		if err := doctorLocked.Reach(); err != nil {
			d.failed("store", st.Name, err)
			return
		}
	}
	st, ok := d.leftovers(ctx, st)
	if !ok {
		return
	}
	n := len(d.found)
	list, err := d.problems(ctx, d.repair, st.BundlePath)
	if err != nil {
		d.failed("bundle", st.Name, err)
	}
	var own []problem
	for _, p := range list {
		if p.Kind != "machine" {
			own = append(own, p)
		}
	}
	d.addProblems(st.Name, own)
	d.fine(n, "bundle", st.Name, "whole")
	d.checkpoints(ctx, st)
}

// letGo lets go of a store's lock.
func (d *doctor) letGo() {
	if d.app.run.Lock != nil {
		_ = d.app.run.Lock.Close()
		d.app.run.Lock = nil
	}
}

// leftovers looks for what dead commands have left of a store. It is false where there
// is nothing more to look at.
func (d *doctor) leftovers(ctx context.Context, st record.Store) (record.Store, bool) {
	n := len(d.found)
	before, err := d.left(ctx, st)
	if err != nil {
		d.failed("store", st.Name, err)
		return st, false
	}
	if d.repair && len(before) > 0 {
		if _, _, err := d.take(ctx, st.Name); err != nil && status.Of(err) != status.NoStore {
			d.failed("leftovers", st.Name, err)
		}
		d.sweepStore(ctx, st.Name)
		_, err := d.sweepBeside(ctx, st, false)
		if err = firstOf(err, doctorSwept.Reach()); err != nil {
			d.failed("leftovers", st.Name, err)
		}
	}
	_, now, err := d.get(ctx, st.Name)
	gone := status.Of(err) == status.NoStore // half made or half deleted
	after := []record.Problem{}
	if !gone {
		if after, err = d.left(ctx, st); err != nil {
			d.failed("leftovers", st.Name, err)
			return now, false
		}
	}
	d.compareLeft(st.Name, before, after)
	d.fine(n, "leftovers", st.Name, "none")
	return now, !gone && now.Status == record.StoreReady
}

// left gives what a store has of leftovers: what cpdb finds, and what bandclone would
// sweep.
func (d *doctor) left(ctx context.Context, st record.Store) ([]record.Problem, error) {
	list, err := d.check(ctx, st.Name)
	if err != nil {
		return nil, err
	}
	var left []record.Problem
	for _, p := range list {
		if p.Kind != "corrupt" {
			left = append(left, p)
		}
	}
	paths, err := d.sweepBeside(ctx, st, true)
	for _, path := range paths {
		known := false
		for _, p := range left {
			known = known || p.Path == path
		}
		if !known {
			left = append(left, record.Problem{Kind: "leftover", Store: st.Name, Path: path, Text: "left by a command that did not end"})
		}
	}
	return left, err
}

// sweepBeside removes what dead commands have left beside the checkpoints, or only tells.
func (d *doctor) sweepBeside(ctx context.Context, st record.Store, dry bool) ([]string, error) {
	words := []string{"bandclone", "sweep", "--bundle", st.BundlePath}
	if dry {
		words = append(words, "--dry-run")
	}
	recs, err := d.app.run.List(ctx, nil, pipeline.Tool(words...))
	return collect[string](recs, "swept", err)
}

// compareLeft tells which leftovers are gone by now.
func (d *doctor) compareLeft(store string, before, after []record.Problem) {
	still := map[record.Problem]bool{}
	for _, p := range after {
		still[p] = true
	}
	for _, p := range before {
		text := p.Text
		if p.Version > 0 {
			text = version(p.Version) + ": " + text
		}
		if p.Path != "" {
			text += " (" + visible(tilde(p.Path)) + ")"
		}
		switch {
		case !still[p]:
			d.add("leftovers", store, stateRepaired, text, "")
		case d.repair:
			d.add("leftovers", store, stateProblem, text, hintsOf[p.Kind])
		default:
			d.add("leftovers", store, stateProblem, text, "agentfs doctor --repair --store "+store)
		}
	}
}

// hintsOf says what can be done about what no repair ends.
var hintsOf = map[string]string{
	"missing": "its files are lost: agentfs checkpoint delete, or bring the directory back",
	"orphan":  "look at it, and delete it",
}

// tell shows what was found.
func (d *doctor) tell() error {
	bad := 0
	rows, hints := [][]string{}, map[int]string{}
	for i, f := range d.found {
		if f.State == stateProblem {
			bad++
		}
		rows = append(rows, []string{f.State, f.Check, visible(f.Store), visible(f.Text)})
		hints[i] = f.Hint
	}
	var lines []string
	for i, line := range columns(rows) {
		lines = append(lines, line)
		if hints[i] != "" {
			lines = append(lines, "  hint: "+visible(hints[i]))
		}
	}
	if err := d.result(d.found, lines...); err != nil || bad == 0 {
		return err
	}
	err := status.Errorf(status.General, "doctor: %s", plural(bad, "problem"))
	if !d.repair {
		return err.WithHint("agentfs doctor --repair")
	}
	return err
}

// checkpoints looks for damage of a store's checkpoints.
func (d *doctor) checkpoints(ctx context.Context, st record.Store) {
	n := len(d.found)
	cps, err := d.history(ctx, st.Name, 0)
	if err == nil && d.deep {
		_, err = d.sumFirst(ctx, cps)
	}
	var damage []*record.Record
	if err == nil {
		damage, err = d.findDamage(ctx, st, cps, !d.deep)
	}
	if err != nil {
		d.failed("checkpoints", st.Name, err)
		return
	}
	if d.repair && len(damage) > 0 {
		damage, err = d.repairDamage(ctx, st, damage)
		if err = firstOf(err, doctorRepaired.Reach()); err != nil {
			d.failed("checkpoints", st.Name, err)
			return
		}
	}
	d.addDamage(ctx, st, cps, damage)
	how := "names and lengths are right"
	if d.deep {
		how = "every band is right"
	}
	d.fine(n, "checkpoints", st.Name, fmt.Sprintf("%s: %s", plural(len(cps), "checkpoint"), how))
}
