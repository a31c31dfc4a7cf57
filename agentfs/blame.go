package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

func (a *app) blameVerb() *command.Verb {
	b := &blaming{app: a}
	return &command.Verb{
		Name: "blame", Args: "PATH | VERSION:PATH | VERSION PATH", Min: 1, Max: 2,
		Short: "show which checkpoint last changed each line of a file",
		Long: `
Of the file as it is now, or as it was in a checkpoint. PATH begins where you stand in
the mount, else at its root; behind a VERSION at the root, or with ./ where you stand.

Ranges of lines, each with the checkpoint in which it appeared, how long ago that was,
who changed it, and the message or what the agent had been asked for. "now" stands
for lines that are in no checkpoint yet; "?" for lines whose origin is not known: they
are older than all checkpoints, or in the version behind the "?" or before it.

A file that was renamed and not changed at the same time is followed to its old name.
Checkpoints that are not looked through yet are looked through first.`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&b.text, "lines", false, "show each line with its text")
		},
		Run: b.blame,
	}
}

// blaming is a blame while it runs.
type blaming struct {
	*app
	text bool // show each line
	st   record.Store
}

// span of lines as treediff blame gives it.
type lineSpan struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// origin of lines, in the order of the file, as blame --json shows it.
type blamed struct {
	lineSpan
	Origin    string           `json:"origin"`               // one of the from… constants
	Version   string           `json:"version,omitempty"`    // of the checkpoint
	Store     string           `json:"store,omitempty"`      // whose it is
	CreatedAt *time.Time       `json:"created_at,omitempty"` //
	Message   string           `json:"message,omitempty"`    //
	Prompt    string           `json:"prompt,omitempty"`     //
	Author    record.Causality `json:"author"`               // empty for a person, or where it is not known
	Text      *string          `json:"text,omitempty"`       // with --lines, where first is last
	cp        record.Checkpoint
}

// Where lines come from.
const (
	fromSaved   = "saved"   // they appeared in the checkpoint
	fromUnsaved = "unsaved" // they are in no checkpoint yet
	fromUnsure  = "unsure"  // they appeared in the checkpoint or before: what changed in it is not known
	fromUnknown = "unknown" // they are older than what is known
)

func (b *blaming) blame(ctx context.Context, _ command.IO, args []string) error {
	v, path := "", args[0]
	if before, after, ok := strings.Cut(path, ":"); ok && versionShape.MatchString(before) {
		v, path = before, after
	}
	if len(args) == 2 {
		v, path = args[0], args[1]
	}
	if v != "" && !versionShape.MatchString(v) {
		return status.Errorf(status.Usage, "blame: %q is no version", v).WithHint("agentfs blame v3:src/app.ts")
	}
	name, err := b.selected(ctx)
	if err != nil {
		return err
	}
	var list []blamed
	if v == "" {
		list, err = b.present(ctx, name, path)
	} else {
		list, err = b.saved(ctx, name, v, path)
	}
	if err != nil {
		return err
	}
	return b.show(list)
}

// saved blames a file as it was in a checkpoint.
func (b *blaming) saved(ctx context.Context, name, v, path string) ([]blamed, error) {
	var cp record.Checkpoint
	err := both(
		func() (err error) { _, b.st, cp, err = b.checkpoint(ctx, name, v); return err },
		func() error { return b.catchUp(ctx, name) })
	if err != nil {
		return nil, err
	}
	if path, err = b.fromRoot(b.st, path); err != nil {
		return nil, err
	}
	history, err := b.trace(ctx, cp.Version, path)
	if err != nil {
		return nil, err
	}
	return b.ranges(ctx, history, func(tool ...string) pipeline.Stage {
		return sides{store: b.st, from: cp}.aside(append(tool, treeMark, path)...)
	})
}

// trace gives what has changed in a path on the way to a version, the newest first;
// version 0 is where the store's present came from.
func (b *blaming) trace(ctx context.Context, at int64, path string) ([]*record.Record, error) {
	words := []string{"cpdb", "trace", "--store", b.st.Name}
	if at > 0 {
		words = append(words, "--at", version(at))
	}
	return b.run.List(ctx, nil, pipeline.Tool(append(words, "--", path)...))
}

// ranges finds out where the lines come from; stage makes the stage of a treediff that
// lacks the file.
func (b *blaming) ranges(ctx context.Context, history []*record.Record, stage func(tool ...string) pipeline.Stage) ([]blamed, error) {
	tool := []string{"treediff", "blame"}
	if b.text {
		tool = append(tool, "--text")
	}
	var out bytes.Buffer
	if err := b.run.Feed(ctx, history, &out, stage(tool...)); err != nil {
		return nil, err
	}
	list, err := readBlamed(&out)
	if err != nil {
		return nil, err
	}
	return list, b.nameStores(ctx, list)
}

// answer is a line of treediff blame. Nearly as many may come as the file has lines, all
// of a few checkpoints: each of these is looked at once.
type answer struct {
	Lines      lineSpan        `json:"lines"`
	Text       *string         `json:"text"`
	Unknown    bool            `json:"unknown"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	Author     json.RawMessage `json:"author"`
}

func readBlamed(r io.Reader) ([]blamed, error) {
	list, known := []blamed{}, map[string]blamed{}
	for dec := json.NewDecoder(r); ; {
		var x answer
		err := dec.Decode(&x)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		key := string(x.Checkpoint) + string(x.Author)
		l, seen := known[key]
		if err == nil && !seen {
			l, err = x.origin()
			known[key] = l
		}
		if err != nil {
			return nil, fmt.Errorf("treediff blame: %w", err)
		}
		l.lineSpan, l.Text = x.Lines, x.Text
		if x.Unknown {
			l.Origin = fromUnknown
		}
		list = append(list, l)
	}
}

// origin tells where the lines of an answer come from.
func (x answer) origin() (l blamed, err error) {
	for raw, into := range map[*json.RawMessage]any{&x.Checkpoint: &l.cp, &x.Author: &l.Author} {
		if len(*raw) > 0 {
			err = errors.Join(err, json.Unmarshal(*raw, into))
		}
	}
	if l.cp.Version == 0 {
		l.Origin = fromUnsaved
		return l, err
	}
	if l.Origin = fromSaved; l.cp.Index != record.IndexDone {
		l.Origin, l.Author = fromUnsure, record.Causality{}
	}
	created := l.cp.CreatedAt.UTC()
	l.Version, l.CreatedAt, l.Message, l.Prompt = version(l.cp.Version), &created, l.cp.Message, l.cp.Prompt
	return l, err
}

// nameStores says whose the checkpoints are: those from before a fork are another
// store's, which may have been deleted since.
func (b *blaming) nameStores(ctx context.Context, list []blamed) error {
	names := map[string]string{b.st.ID: b.st.Name}
	if slices.ContainsFunc(list, func(l blamed) bool { return l.Version != "" && l.cp.StoreID != b.st.ID }) {
		stores, err := b.stores(ctx)
		if err != nil {
			return err
		}
		for _, st := range stores {
			names[st.ID] = st.Name
		}
	}
	for i, l := range list {
		if name, known := names[l.cp.StoreID]; known {
			list[i].Store = name
		} else if l.Version != "" {
			list[i].Store = "?"
		}
	}
	return nil
}

func (b *blaming) show(list []blamed) error {
	if b.json {
		return b.document(list)
	}
	rows := make([][]string, len(list))
	for i, l := range list {
		rows[i] = b.row(l)
	}
	if len(list) == 0 {
		return b.result(nil, "The file is empty")
	}
	return b.paged(nil, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(append(columns(rows), ""), "\n"))
		return err
	})
}

// row is a range for people: v48  2m  L1-50  claude-code/Edit  "added authentication".
func (b *blaming) row(l blamed) []string {
	version, old, author, about := "?", "", "?", "older than what is known"
	switch l.Origin {
	case fromUnsaved:
		version, author, about = "now", "", "not saved yet"
	case fromUnsure:
		version, old, about = b.versionOf(l)+"?", age(l.cp.CreatedAt), "or before: what changed in it is not known"
	case fromSaved:
		version, old, author, about = b.versionOf(l), age(l.cp.CreatedAt), who(l.Author), caption(l.cp)
	}
	if l.Text != nil {
		return []string{version, old, author, fmt.Sprintf("L%d", l.First), textLine(*l.Text)}
	}
	lines := fmt.Sprintf("L%d-%d", l.First, l.Last)
	if l.First == l.Last {
		lines = fmt.Sprintf("L%d", l.First)
	}
	return []string{version, old, lines, author, about}
}

func (b *blaming) versionOf(l blamed) string {
	if l.Store != b.st.Name {
		return visible(l.Store) + " " + l.Version
	}
	return l.Version
}

// textLine is a line of a file, with its tabs.
func textLine(s string) string {
	parts := strings.Split(strings.TrimRight(s, "\r\n"), "\t")
	for i, p := range parts {
		parts[i] = visible(p)
	}
	return strings.Join(parts, "\t")
}
