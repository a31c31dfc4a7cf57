package main

import (
	"context"
	"flag"
	"strings"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/status"
)

type searchVerb struct {
	*app
	store *string
	limit int
}

func search(a *app) *command.Verb {
	v := &searchVerb{app: a}
	return &command.Verb{
		Name:  "search",
		Args:  "TEXT",
		Short: "list checkpoints with these words, pruned ones too, newest first",
		Long: `Each word of TEXT must be the beginning of a word of the checkpoint's message,
prompt, agent or action, or of a path that it changed. Letters and digits make
words; upper and lower case are the same. "paths" are the first three with such a
word.

in:  nothing
out: checkpoint, author (as in log) and paths, a line each`,
		Min: 1,
		Max: -1,
		Flags: func(fs *flag.FlagSet) {
			optional(fs, &v.store, "store", "`name` of the store")
			fs.IntVar(&v.limit, "limit", 0, "at most so many; 0: no limit")
		},
		Run: v.run,
	}
}

func (v *searchVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	store, err := needStore(v.store)
	if err != nil {
		return err
	}
	if err := notNegative("limit", v.limit); err != nil {
		return err
	}
	text := strings.Join(args, " ")
	words := db.Words(text)
	if len(words) == 0 {
		return status.Errorf(status.Usage, "search %q: no letter or digit to look for", text)
	}
	d, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	list, err := d.Search(ctx, store, words, v.limit)
	if err != nil {
		return err
	}
	return writeLines(stdio.Out, list)
}
