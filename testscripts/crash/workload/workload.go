//go:build linux

// Package workload uses agentfs as people and agents do, and notes what it is told:
// files that are written and synced amid others that are not, checkpoints, restores,
// a fork, deletions. A seed decides what is done in which order.
package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"agentfs.internal/testscripts/crash/claims"
)

// Config says where the work is done and who is told.
type Config struct {
	Home     string       // AGENTFS_HOME: a directory that is there
	Dir      string       // the stores are mounted below it
	Bin      string       // directory of agentfs and its tools; "" to look for them on the PATH
	Env      []string     // on top of ours, for each command
	Hasher   []string     // a command that prints the hash of the tree that is appended
	Seed     uint64       //
	Rounds   int          // each is some twenty synced writes and one command
	Claims   *claims.Log  //
	Position func() int64 // operations that have been logged

	// Start is called when the store has been made and is closed: from here on
	// claims are made.
	Start func() error
}

// Env keeps agentfs from doing anything in the background that was not asked for.
var Env = []string{"AGENTFS_STORE=", "AGENTFS_CHECKPOINTS_AUTO_INDEX=false", "AGENTFS_CHECKPOINTS_AUTO_PRUNE=false"}

// The two stores: the second one is a fork of the first, and deleted at last.
const (
	first  = "first"
	second = "second"
)

type worker struct {
	Config
	random   *rand.Rand
	noise    *noise
	versions map[string][]int64 // by store: what can be restored, in order
	durable  bool               // a checkpoint is only durable if that was asked for
	serial   int
}

// Run does the work. At its end the stores are closed.
func Run(ctx context.Context, cfg Config) error {
	w := &worker{Config: cfg, random: rand.New(rand.NewPCG(cfg.Seed, 2)), versions: map[string][]int64{}}
	if err := w.begin(ctx); err != nil {
		return err
	}
	w.noise = startNoise(filepath.Join(w.mount(first), "noise"), cfg.Seed)
	err := w.rounds(ctx)
	w.noise.pause()
	if err != nil {
		return err
	}
	return w.closeAll(ctx)
}

// begin makes the first store, with the directories that are needed.
func (w *worker) begin(ctx context.Context) error {
	help, _ := w.agentfs(ctx, "checkpoint", "create", "-h")
	w.durable = strings.Contains(help, "-durable")
	if _, err := w.agentfs(ctx, "init", first, "--size", "64M", "--mount", w.mount(first)); err != nil {
		return err
	}
	for _, dir := range []string{"safe", "safe/deep", "noise"} {
		if err := os.Mkdir(filepath.Join(w.mount(first), dir), 0o755); err != nil {
			return err
		}
	}
	if _, err := w.agentfs(ctx, "close", first); err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	_, err := w.agentfs(ctx, "open", first)
	return err
}

// action is a command, and how often it comes in a cycle. What cannot be done yet
// does nothing.
type action struct {
	name  string
	times int
	do    func(*worker, context.Context) error
}

var actions = []action{
	{"checkpoint", 6, (*worker).checkpoint},
	{"restore", 1, (*worker).restoreRemount},
	{"restore in place", 1, (*worker).restoreInPlace},
	{"fork", 1, (*worker).fork},
	{"delete", 1, (*worker).delete},
	{"prune", 1, (*worker).prune},
	{"compact", 1, (*worker).compact},
	{"close and open", 1, (*worker).reopen},
}

func (w *worker) rounds(ctx context.Context) error {
	todo := []action{actions[0], actions[0]} // what else there is needs a checkpoint
	for range w.Rounds {
		if len(todo) == 0 {
			todo = w.cycle()
		}
		if err := w.write(first); err != nil {
			return err
		}
		if err := todo[0].do(w, ctx); err != nil {
			return fmt.Errorf("%s: %w", todo[0].name, err)
		}
		todo = todo[1:]
	}
	return nil
}

// cycle gives all actions, shuffled.
func (w *worker) cycle() []action {
	var list []action
	for _, a := range actions {
		list = append(list, slices.Repeat([]action{a}, a.times)...)
	}
	w.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func (w *worker) mount(store string) string { return filepath.Join(w.Dir, store) }

// claim notes that what was asked for at begun is acknowledged now.
func (w *worker) claim(begun int64, c claims.Claim) error {
	c.Begun, c.At = begun, w.Position()
	return w.Claims.Add(c)
}

// write writes and syncs some files.
func (w *worker) write(store string) error {
	for range 10 + w.random.IntN(20) {
		if err := w.writeOne(store); err != nil {
			return err
		}
	}
	return nil
}

// writeOne puts a file in place as careful programs do, or removes one.
func (w *worker) writeOne(store string) error {
	path := fmt.Sprintf("safe/f%d", w.random.IntN(10))
	if w.random.IntN(3) == 0 {
		path = fmt.Sprintf("safe/deep/f%d", w.random.IntN(10))
	}
	w.serial++
	data := w.content()
	c := claims.Claim{Kind: claims.Fsynced, Store: store, Path: path, Sum: sum(data)}
	begun := w.Position()
	err := replace(filepath.Join(w.mount(store), path), data)
	if w.random.IntN(12) == 0 && err == nil {
		if err = w.claim(begun, c); err == nil {
			begun, c.Sum = w.Position(), ""
			err = remove(filepath.Join(w.mount(store), path))
		}
	}
	return errors.Join(err, w.claim(begun, c))
}

// content is mostly small, and never the same.
func (w *worker) content() []byte {
	n := 100 + w.random.IntN(8<<10)
	if w.random.IntN(15) == 0 {
		n = 200<<10 + w.random.IntN(1<<20)
	}
	return fill(w.random, fmt.Sprintf("%d %d\n", w.Seed, w.serial), n)
}

// quietly does something while nobody else writes.
func (w *worker) quietly(do func() error) error {
	w.noise.pause()
	err := do()
	w.noise.resume()
	return err
}

// checkpoint makes one, mostly while others write.
func (w *worker) checkpoint(ctx context.Context) error {
	if w.random.IntN(3) == 0 {
		return w.quietly(func() error { return w.create(ctx, true) })
	}
	return w.create(ctx, false)
}

func (w *worker) create(ctx context.Context, alone bool) error {
	args := []string{"checkpoint", "create", "--json", "--store", first}
	durable := !w.durable
	if w.durable && w.random.IntN(2) == 0 {
		args, durable = append(args, "--durable"), true
	}
	begun := w.Position()
	var made struct {
		Version string `json:"version"`
	}
	if err := w.json(ctx, &made, args...); err != nil {
		return err
	}
	return w.made(ctx, begun, w.Position(), made.Version, alone, durable)
}

// made notes a new checkpoint of the first store.
func (w *worker) made(ctx context.Context, begun, at int64, version string, alone, durable bool) error {
	v, err := number(version)
	if err != nil {
		return err
	}
	w.versions[first] = append(w.versions[first], v)
	c := claims.Claim{Begun: begun, At: at, Kind: claims.Checkpoint, Store: first, Version: v, Alone: alone}
	if c.Tree, err = w.hashAside(ctx, v); err != nil {
		return err
	}
	err = w.Claims.Add(c)
	if durable {
		c.Kind, c.Tree, c.Alone = claims.Durable, "", false
		err = errors.Join(err, w.Claims.Add(c))
	}
	return err
}

func (w *worker) bundle() string {
	return filepath.Join(w.Home, "stores", first, first+".sparsebundle")
}

// hashAside hashes a checkpoint's tree.
func (w *worker) hashAside(ctx context.Context, v int64) (string, error) {
	args := []string{"attach", "--bundle", w.bundle(), "--checkpoint", filepath.Join(w.Home, "stores", first, "checkpoints", name(v)), "--"}
	out, err := w.run(ctx, "bundlectl", append(append(args, w.Hasher...), "{}")...)
	return strings.TrimSpace(out), err
}

func (w *worker) restoreRemount(ctx context.Context) error {
	return w.quietly(func() error { return w.restore(ctx, "--remount") })
}

func (w *worker) restoreInPlace(ctx context.Context) error {
	return w.quietly(func() error { return w.restore(ctx, "--in-place") })
}

// restore restores a version, and syncs what a restore in place has written.
func (w *worker) restore(ctx context.Context, how string) error {
	v, ok := w.any(first)
	if !ok {
		return nil
	}
	begun := w.Position()
	var done struct {
		SavedAs string `json:"saved_as"`
	}
	if err := w.json(ctx, &done, "restore", name(v), "-f", how, "--json", "--store", first); err != nil {
		return err
	}
	if err := syncFS(w.mount(first)); err != nil {
		return err
	}
	at := w.Position()
	if err := w.made(ctx, begun, at, done.SavedAs, true, !w.durable || how == "--remount"); err != nil {
		return err
	}
	return w.Claims.Add(claims.Claim{Begun: begun, At: at, Kind: claims.Restored, Store: first, Version: v, InPlace: how == "--in-place"})
}

// any chooses a version.
func (w *worker) any(store string) (int64, bool) {
	list := w.versions[store]
	if len(list) == 0 {
		return 0, false
	}
	return list[w.random.IntN(len(list))], true
}

// fork makes the second store and writes there or, where it is, deletes it.
func (w *worker) fork(ctx context.Context) error {
	begun := w.Position()
	if w.forked() {
		_, err := w.agentfs(ctx, "delete", second, "-f")
		return errors.Join(err, w.claim(begun, claims.Claim{Kind: claims.Deleted, Store: second}))
	}
	v, ok := w.any(first)
	if !ok {
		return nil
	}
	if _, err := w.agentfs(ctx, "fork", name(v), second, "--mount", w.mount(second), "--store", first); err != nil {
		return err
	}
	if err := w.claim(begun, claims.Claim{Kind: claims.Forked, Store: second, From: first, Version: v}); err != nil {
		return err
	}
	return w.write(second)
}

func (w *worker) forked() bool {
	_, err := os.Stat(filepath.Join(w.Home, "stores", second))
	return err == nil
}

func (w *worker) delete(ctx context.Context) error {
	v, ok := w.any(first)
	if !ok || len(w.versions[first]) < 3 {
		return nil
	}
	begun := w.Position()
	_, err := w.agentfs(ctx, "checkpoint", "delete", name(v), "-f", "--store", first)
	return errors.Join(err, w.deleted(begun, v))
}

func (w *worker) deleted(begun, v int64) error {
	w.versions[first] = slices.DeleteFunc(w.versions[first], func(have int64) bool { return have == v })
	return w.claim(begun, claims.Claim{Kind: claims.Deleted, Store: first, Version: v})
}

func (w *worker) prune(ctx context.Context) error {
	begun := w.Position()
	var done struct {
		Pruned []struct {
			Version string `json:"version"`
		} `json:"pruned"`
	}
	if err := w.json(ctx, &done, "checkpoint", "prune", "--keep", "3", "-f", "--json", "--store", first); err != nil {
		return err
	}
	for _, p := range done.Pruned {
		v, err := number(p.Version)
		if err := errors.Join(err, w.deleted(begun, v)); err != nil {
			return err
		}
	}
	return nil
}

// compact discards what the filesystem does not use, while others write.
func (w *worker) compact(ctx context.Context) error {
	_, err := w.run(ctx, "bundlectl", "compact", w.bundle())
	return err
}

func (w *worker) reopen(ctx context.Context) error {
	return w.quietly(func() error {
		_, err := w.agentfs(ctx, "close", first)
		if err == nil {
			_, err = w.agentfs(ctx, "open", first)
		}
		return err
	})
}

func (w *worker) closeAll(ctx context.Context) error {
	_, err := w.agentfs(ctx, "close", first)
	if err == nil && w.forked() {
		_, err = w.agentfs(ctx, "close", second)
	}
	return err
}

func syncFS(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}

func name(v int64) string { return fmt.Sprintf("v%d", v) }

func number(version string) (v int64, err error) {
	_, err = fmt.Sscanf(version, "v%d", &v)
	return v, err
}

// patience is how long a command may take.
const patience = 2 * time.Minute
