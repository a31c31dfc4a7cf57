package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/record"
)

// entry is a checkpoint with what has changed in it, as timeline, log and search
// --json show it.
type entry struct {
	Version   string    `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	Message   string    `json:"message"`
	record.Causality
	Author       record.Causality `json:"author"`  // of the changes; empty for a person
	Changes      *int64           `json:"changes"` // paths; null: not known
	LinesAdded   *int64           `json:"lines_added"`
	LinesDeleted *int64           `json:"lines_deleted"`
	Paths        []string         `json:"paths"` // the first ones
	Status       string           `json:"status"`
	Indexed      bool             `json:"indexed"` // its changes are known
	cp           record.Checkpoint
}

func entryOf(rec *record.Record) (e entry, err error) {
	if err := rec.Get("checkpoint", &e.cp); err != nil {
		return e, err
	}
	for key, into := range map[string]any{"author": &e.Author, "paths": &e.Paths} {
		if rec.Has(key) {
			if err := rec.Get(key, into); err != nil {
				return e, err
			}
		}
	}
	if e.Paths == nil {
		e.Paths = []string{}
	}
	e.Version, e.CreatedAt, e.Message, e.Causality = version(e.cp.Version), e.cp.CreatedAt.UTC(), e.cp.Message, e.cp.Causality
	e.Status, e.Indexed = e.cp.Status, e.cp.Index == record.IndexDone
	if e.Indexed {
		e.Changes, e.LinesAdded, e.LinesDeleted = &e.cp.Changes, &e.cp.LinesAdded, &e.cp.LinesDeleted
	}
	return e, nil
}

// asking is what a verb that lists entries is asked for.
type asking struct {
	*app
	verb                                 string
	since, until, agent, action, session string
	limit                                int // -1: not given
}

// mostShown is how many entries people are shown who ask for no number.
const mostShown = 50

func (q *asking) limitFlag(fs *flag.FlagSet) {
	fs.Func("limit", fmt.Sprintf("show the newest `N` only; 0 for all (default %d, with --json all)", mostShown), func(s string) error {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return fmt.Errorf("want a number")
		}
		q.limit = int(n)
		return nil
	})
}

func (q *asking) timeFlags(fs *flag.FlagSet) {
	fs.StringVar(&q.since, "since", "", "from this `TIME` on: 1h, 2d, 10:30, yesterday, 2026-11-20, \"2026-11-20 10:30\"")
	fs.StringVar(&q.until, "until", "", "up to this `TIME`")
	fs.StringVar(&q.agent, "agent", "", "only what the agent `NAME` has to do with")
}

// log asks cpdb for the entries that are wanted, with so many paths each; paths of
// the tree choose those in which they have changed.
func (q *asking) log(ctx context.Context, store string, shown int, paths []string) ([]entry, error) {
	if err := q.catchUpNow(ctx, store); err != nil {
		return nil, err
	}
	since, err := momentFlag(q.verb, "since", q.since)
	if err != nil {
		return nil, err
	}
	until, err := momentFlag(q.verb, "until", q.until)
	if err != nil {
		return nil, err
	}
	words := []string{"cpdb", "log", "--store", store}
	for _, f := range [][2]string{
		{"--agent", q.agent}, {"--action", q.action}, {"--session", q.session}, {"--since", since}, {"--until", until},
	} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	words = append(words, "--paths", strconv.Itoa(shown))
	if len(paths) == 0 {
		list, err := q.list(ctx, words)
		if err == nil {
			q.tellPending(store, pendingIn(list))
		}
		return list, err
	}
	return q.listByChanges(ctx, store, words, paths)
}

// catchUpNow lists what has changed before it is shown, where nobody does it in the
// background.
func (a *app) catchUpNow(ctx context.Context, store string) error {
	cfg, err := a.readConfig()
	if err != nil || cfg.autoIndex {
		return err
	}
	return a.catchUp(ctx, store)
}

// listByChanges is list for entries that are chosen by what has changed in them: one
// of which that is not known yet is not listed, so cpdb is asked for these, too.
func (q *asking) listByChanges(ctx context.Context, store string, words, args []string) (list []entry, err error) {
	var todo []pair
	err = both(
		func() (err error) { list, err = q.list(ctx, words, args...); return err },
		func() (err error) { todo, err = q.todo(ctx, store); return err })
	if err == nil {
		q.tellPending(store, len(todo))
	}
	return list, err
}

// list runs a stage that lists entries. From people who ask for no number it hides the
// older ones, and tells them so if there are any.
func (q *asking) list(ctx context.Context, words []string, args ...string) ([]entry, error) {
	most, hide := q.limit, q.limit < 0 && !q.json
	if hide {
		most = mostShown + 1
	}
	if most > 0 {
		words = append(words, "--limit", strconv.Itoa(most))
	}
	if len(args) > 0 {
		words = append(append(words, "--"), args...)
	}
	recs, err := q.run.List(ctx, nil, pipeline.Tool(words...))
	if err != nil {
		return nil, err
	}
	if hide && len(recs) > mostShown {
		recs = recs[:mostShown]
		q.warn("there are older ones: --limit 0 shows all")
	}
	list := make([]entry, len(recs))
	for i, rec := range recs {
		if list[i], err = entryOf(rec); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// chosenPaths gives the paths of the tree that choose entries; none where the whole
// tree is meant.
func (q *asking) chosenPaths(ctx context.Context, store string, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	_, st, err := q.get(ctx, store)
	if err != nil {
		return nil, err
	}
	paths, err = q.inTree(st, paths)
	for _, p := range paths {
		if p == "." {
			return nil, err
		}
	}
	return paths, err
}

// show shows entries, each as lines, or says that there are none.
func (q *asking) show(list []entry, none string, lines []string) error {
	if q.json {
		return q.document(list)
	}
	if len(list) == 0 {
		return q.result(nil, none)
	}
	return q.paged(nil, func(w io.Writer) error {
		paint := painter(w)
		for i, line := range lines {
			if list[i].Status == record.CheckpointPruned {
				line = paint(dim, line)
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
		return nil
	})
}

func pendingIn(list []entry) (n int) {
	for _, e := range list {
		if e.pending() {
			n++
		}
	}
	return n
}

// tellPending says of how many checkpoints the changes are not known yet, and starts to
// list them again: whoever was at it may have been killed.
func (q *asking) tellPending(store string, n int) {
	if n == 0 {
		return
	}
	q.warn("%s still being looked through", map[bool]string{true: "1 checkpoint is", false: strconv.Itoa(n) + " checkpoints are"}[n == 1])
	if cfg, err := q.readConfig(); err == nil {
		q.indexAfter(cfg, store)
	}
}

// pending tells whether the changes will be known later.
func (e entry) pending() bool {
	return e.cp.Index == record.IndexNone && e.Status == record.CheckpointReady
}

// lines are the lines that were added and deleted, for people.
func (e entry) lines() (plus, minus string) {
	switch {
	case e.Indexed:
		return fmt.Sprintf("+%d", *e.LinesAdded), fmt.Sprintf("-%d", *e.LinesDeleted)
	case e.pending():
		return "…", ""
	default:
		return "?", ""
	}
}

// paths are the changed paths for people, and how many more there are.
func (e entry) paths() string {
	if more := e.cp.Changes - int64(len(e.Paths)); e.Indexed && more > 0 {
		return fmt.Sprintf("%s, … (+%d)", pathList(e.Paths), more)
	}
	return pathList(e.Paths)
}

func pathList(paths []string) string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = visible(p)
	}
	return strings.Join(list, ", ")
}

// who names who made a change.
func who(c record.Causality) string {
	name := c.Agent
	if name == "" {
		name = "manual"
	}
	if c.Action != "" {
		name += "/" + c.Action
	}
	return visible(name)
}

// titleOf is a checkpoint's message, unless it is one that says nothing.
func titleOf(cp record.Checkpoint) string {
	if cp.Message == autoMessage {
		return ""
	}
	return visible(cp.Message)
}

// caption says what a checkpoint is about: its message or else what the agent had
// been asked for.
func caption(cp record.Checkpoint) string {
	title := titleOf(cp)
	if title == "" {
		title = firstLine(cp.Prompt)
	}
	if title == "" {
		return ""
	}
	return `"` + cut(title) + `"`
}

// firstLine is the first line of a text that is not empty.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return visible(strings.TrimSpace(line))
}

// when is a time of day, with its date where that is not now's.
func when(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	switch {
	case t.Year() != now.Year():
		return t.Format("2006-01-02 15:04")
	case t.YearDay() != now.YearDay():
		return t.Format("Jan _2 15:04")
	default:
		return t.Format("15:04")
	}
}
