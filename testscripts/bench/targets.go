package main

// target is a figure to reach.
type target struct {
	key   string // names its note in the page
	what  string
	value func(figures) (float64, bool)
	limit float64
	least bool // the limit is the least, not the most
	unit  func(float64) string
}

// figures are the results by key of their subject.
type figures map[string]*result

var targets = []target{
	{"checkpoint", "`agentfs checkpoint create`, many files, one line changed", median("checkpoint-many", oursChanged), 0.015, false, inSeconds},
	{"checkpoint-btrfs", "the same, against the bare `btrfs subvolume snapshot`", ratio("checkpoint-many", oursChanged, btrfsSnapshot), 4, false, times},
	{"checkpoint-copy", "the same, faster than `cp -a --reflink=always` by", ratio("checkpoint-many", xfsCopy, oursChanged), 50, true, times},
	{"checkpoint-files", "the same, against few files of the same bytes", filesOverBytes, 1.3, false, times},
	{"restore", "`agentfs restore`", median("restore-many", ours), 0.250, false, inSeconds},
	{"diff", "`agentfs diff` of ten changes, caches warm", median("diff-warm", ours), 0.300, false, inSeconds},
	{"diff-git", "the same, slower than `git status` by", difference("diff-warm", ours, gitStatus), 0.250, false, inSeconds},
	{"diff-cold", "`agentfs diff` of ten changes, caches dropped", median("diff-cold", ours), 2, false, inSeconds},
	{"inplace", "`agentfs restore --in-place` of ten changes", median("inplace", ours), 0.500, false, inSeconds},
	{"inplace-rsync", "the same, faster than `rsync -a --delete` by", ratio("inplace", rsyncBack, ours), 5, true, times},
	{"remount", "`agentfs restore --remount` of ten changes", median("remount", ours), 0.120, false, inSeconds},
	{"fork", "`agentfs fork`", median("fork", ours), 0.150, false, inSeconds},
	{"auto", "`agentfs checkpoint --auto`, nothing has changed", median("auto", ours), 0.012, false, inSeconds},
	{"auto-outside", "the same in no store", median("auto", outOfStore), 0.005, false, inSeconds},
	{"hook", "the hook before a tool, one line changed", median("hook", oursChanged), 0.040, false, inSeconds},
	{"timeline", "`agentfs timeline` of a long history", median("timeline", ours), 0.050, false, inSeconds},
	{"log", "`agentfs log -- PATH` of it", median("log", ours), 0.050, false, inSeconds},
	{"search", "`agentfs search` in it", median("search", ours), 0.050, false, inSeconds},
	{"blame", "`agentfs blame` of a file changed in 50 checkpoints", median("blame", ours), 0.050, false, inSeconds},
	{"init", "`agentfs init`", median("init", ours), 0.300, false, inSeconds},
	{"open", "`agentfs open`", median("open-many", ours), 0.150, false, inSeconds},
	{"space-ext4", "a checkpoint after a one-line edit takes, on an ext4 host", median("space-ext4", ours), 4 << 20, false, inBytes},
	{"space-xfs", "the same on a host with reflinks", median("space-xfs", ours), 1 << 20, false, inBytes},
	{"untar", "untar in the mount, against the host", ratio("untar", inMount, onHost), 1.3, false, times},
	{"status", "`git status`, against the host", ratio("status", inMount, onHost), 1.3, false, times},
	{"warm", "warm read of all, against the host", ratio("warm", inMount, onHost), 1.3, false, times},
	{"cold", "cold read of all, against the host", ratio("cold", inMount, onHost), 1.3, false, times},
	{"random", "random 4 KiB writes, fsync after every 8, against ext4 in a plain image file", ratio("random", inMount, onPlain), 1.3, false, times},
	{"append", "append 4 KiB and fsync, against ext4 in a plain image file", ratio("append", inMount, onPlain), 1.3, false, times},
	{"sequential", "sequential write and fsync, against the host", ratio("sequential", inMount, onHost), 1.8, false, times},
}

func median(key, candidate string) func(figures) (float64, bool) {
	return func(f figures) (float64, bool) { return f[key].median(candidate) }
}

// ratio of the medians of two candidates.
func ratio(key, of, to string) func(figures) (float64, bool) {
	return func(f figures) (float64, bool) {
		a, ok := f[key].median(of)
		b, yes := f[key].median(to)
		return a / b, ok && yes
	}
}

// difference of the medians of two candidates.
func difference(key, of, from string) func(figures) (float64, bool) {
	return func(f figures) (float64, bool) {
		a, ok := f[key].median(of)
		b, yes := f[key].median(from)
		return a - b, ok && yes
	}
}

// filesOverBytes: what a checkpoint costs must hang on bands, not on files.
func filesOverBytes(f figures) (float64, bool) {
	a, ok := f["checkpoint-many"].median(oursChanged)
	b, yes := f["checkpoint-few"].median(oursChanged)
	return a / b, ok && yes
}

func (t target) reached(v float64) bool {
	if t.least {
		return v >= t.limit
	}
	return v <= t.limit
}

// short tells whether a figure was measured and not reached.
func (f figures) short(key string) bool {
	for _, t := range targets {
		if v, ok := t.value(f); t.key == key && ok {
			return !t.reached(v)
		}
	}
	return false
}

// table of all targets.
func (f figures) targets() string {
	rows := [][]string{{"what", "measured", "to reach", ""}}
	for _, t := range targets {
		rows = append(rows, t.row(f))
	}
	return markdown(rows)
}

func (t target) row(f figures) []string {
	limit := "≤ " + t.unit(t.limit)
	if t.least {
		limit = "≥ " + t.unit(t.limit)
	}
	v, ok := t.value(f)
	switch {
	case !ok:
		return []string{t.what, "–", limit, "not measured"}
	case t.reached(v):
		return []string{t.what, t.unit(v), limit, "reached"}
	}
	return []string{t.what, t.unit(v), limit, "**falls short**"}
}
