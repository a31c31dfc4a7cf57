package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const outOfStore = ours + ", in no store"

// hooked measures what an agent waits for before each of its tools: when there is
// nothing to save, and when there is.
func (b *bench) hooked(ctx context.Context, d *desk) error {
	if !b.wanted("auto", "hook") {
		return nil
	}
	beside := shadow{work: d.store.mount, git: filepath.Join(b.dir, "shadow-desk")}
	b.undo.push(beside.git, func() error { return os.RemoveAll(beside.git) })
	if err := beside.begin(ctx); err != nil {
		return err
	}
	save := beside.do(commit)
	auto := d.store.agentfs(d.store.mount, "checkpoint", "--auto")
	same := func(ctx context.Context, _ int) error { return firstOf(auto.run(ctx), save.run(ctx)) }
	edit := func(_ context.Context, n int) error { return d.edit(d.store.mount, n) }
	err := b.race(ctx, subject{
		key: "auto", title: "Nothing to save: " + d.title, unit: inSeconds, bases: []string{ours},
		candidates: []candidate{
			{name: ours, dirty: same, measure: timedRun(auto)},
			{name: outOfStore, dirty: same, measure: timedRun(d.store.agentfs("/", "checkpoint", "--auto"))},
			{name: "git in a shadow directory", dirty: same, measure: timedRun(save)},
		},
	})
	return firstOf(err, b.race(ctx, subject{
		key: "hook", title: "Before a tool, a hook that saves: " + d.title, unit: inSeconds, bases: []string{oursChanged},
		candidates: []candidate{
			{name: oursChanged, dirty: edit, measure: d.hook()},
			{name: "git in a shadow directory", dirty: edit, measure: timedRun(save)},
			{name: ours + ", ten files changed right after a restore", reset: d.asSaved, dirty: d.work, measure: d.hook()},
		},
	}))
}

// hook is the whole process that an agent starts, held to it that it has saved.
func (d *desk) hook() sample {
	event := fmt.Sprintf(`{"session_id":"bench","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`, d.store.mount)
	file := d.beside + "-event"
	p := program{dir: "/", env: []string{"AGENTFS_HOME=" + d.store.home}, args: []string{"agentfs-hook", "claude-code"}, in: file}
	run := timedRun(p)
	return func(ctx context.Context, n int) (float64, error) {
		before, err := d.store.latest(ctx)
		if err := firstOf(err, os.WriteFile(file, []byte(event), 0o600)); err != nil {
			return 0, err
		}
		v, err := run(ctx, n)
		if err != nil {
			return 0, err
		}
		after, err := d.store.latest(ctx)
		if err == nil && after == before {
			err = fmt.Errorf("the hook has saved nothing since %s", before)
		}
		return v, err
	}
}

// latest names the newest checkpoint.
func (s *store) latest(ctx context.Context) (string, error) {
	out, err := s.do("checkpoint", "list", "--limit", "1", "--json").command(ctx).Output()
	_, rest, _ := strings.Cut(string(out), `"version":"`)
	version, _, _ := strings.Cut(rest, `"`)
	return version, err
}
