//go:build linux

// Package check holds what a crash has left against what was claimed before it.
package check

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentfs.internal/testscripts/bandread"
	"agentfs.internal/testscripts/crash/claims"
	"agentfs.internal/tool/record"
)

// Input is one crash state.
type Input struct {
	Home     string         // AGENTFS_HOME, at the path at which it was recorded
	Temp     string         // a directory for what is needed meanwhile
	Env      []string       // on top of ours
	Hasher   []string       // a command that prints the hash of each tree that is appended, a line each
	Before   []claims.Claim // acknowledged before the crash
	Underway []claims.Claim // asked for, and not acknowledged
	Seed     uint64         // chooses what is not tried in each state
	Timeout  time.Duration  // for each command; 0: a minute
}

// Result is what was found.
type Result struct {
	Checks     int      // how many things were looked at
	Violations []string // what is not as it was claimed
}

// State opens all stores of a crash state, and looks whether all is as it was claimed:
//
//   - agentfs open succeeds;
//   - each file that was fsynced has its content;
//   - each durable checkpoint is listed, and its tree has its hash; so has every other
//     one that is listed, and none is that was deleted or never made;
//   - a new checkpoint gets a version that nobody has had;
//   - the database is sound;
//   - e2fsck finds nothing in the image;
//   - a durable checkpoint can be restored.
//
// The stores are closed then.
func State(ctx context.Context, in Input) Result {
	c := &checker{Input: in, random: rand.New(rand.NewPCG(in.Seed, 1))}
	stores := expect(in.Before, in.Underway)
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		c.name, c.store = name, stores[name]
		c.checkStore(ctx)
	}
	c.name = ""
	c.database(ctx)
	return c.Result
}

type checker struct {
	Input
	Result
	name   string // of the store that is looked at
	store  *store
	mount  string
	random *rand.Rand
}

func (c *checker) violation(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if c.name != "" {
		text = c.name + ": " + text
	}
	c.Violations = append(c.Violations, text)
}

func (c *checker) checkStore(ctx context.Context) {
	if !c.open(ctx) {
		return
	}
	c.checkFiles()
	c.checkCheckpoints(ctx)
	c.create(ctx)
	if _, err := c.run(ctx, "agentfs", "close", c.name); err != nil {
		c.violation("close: %v", err)
		return
	}
	c.image(ctx)
	c.restore(ctx)
}

func (c *checker) bundle() string {
	return filepath.Join(c.Home, "stores", c.name, c.name+".sparsebundle")
}

// open mounts the store, and tells whether there is one.
func (c *checker) open(ctx context.Context) bool {
	var opened struct {
		MountPath string `json:"mount_path"`
	}
	c.Checks++
	err := c.json(ctx, &opened, "agentfs", "open", c.name, "--json")
	if c.store.maybe && status(err) == notFound {
		return false
	}
	if err != nil {
		c.violation("open: %v", err)
		return false
	}
	c.mount = opened.MountPath
	return true
}

// checkFiles reads what was fsynced.
func (c *checker) checkFiles() {
	var best []string
	for i, right := range c.store.files {
		wrong := c.wrong(right)
		if i == 0 || len(wrong) < len(best) {
			best = wrong
		}
	}
	for _, text := range best {
		c.violation("%s", text)
	}
}

// wrong tells what is not right.
func (c *checker) wrong(right files) []string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(right)) {
		c.Checks++
		if sum, err := sumOf(filepath.Join(c.mount, path)); err != nil {
			list = append(list, fmt.Sprintf("file %s: %v", path, err))
		} else if !slices.Contains(right[path], sum) {
			list = append(list, fmt.Sprintf("file %s has sum %.12q, and it should have one of %.12q", path, sum, right[path]))
		}
	}
	return list
}

// sumOf is "" for no file.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

func (c *checker) checkCheckpoints(ctx context.Context) {
	listed, err := c.list(ctx)
	if err != nil {
		c.violation("checkpoint list: %v", err)
		return
	}
	for _, v := range listed {
		if c.store.checkpoints[v] == nil {
			c.violation("v%d is listed, and was deleted or never made", v)
		}
	}
	c.Checks += len(listed) + len(c.store.checkpoints)
	for v, p := range c.store.checkpoints {
		if p.durable && !p.maybe && !slices.Contains(listed, v) {
			c.violation("v%d was durable, and is not listed", v)
		}
	}
	listed = slices.DeleteFunc(listed, func(v int64) bool { return c.store.checkpoints[v] == nil })
	c.checkTrees(ctx, listed)
}

func (c *checker) list(ctx context.Context) ([]int64, error) {
	var list []struct {
		Version string `json:"version"`
	}
	err := c.json(ctx, &list, "agentfs", "checkpoint", "list", "--limit", "0", "--json", "--store", c.name)
	var versions []int64
	for _, l := range list {
		var v int64
		_, e := fmt.Sscanf(l.Version, "v%d", &v)
		err = errors.Join(err, e)
		versions = append(versions, v)
	}
	return versions, err
}

// checkTrees hashes the trees of all these versions at once or, where that fails, one
// by one.
func (c *checker) checkTrees(ctx context.Context, versions []int64) {
	if len(versions) == 0 {
		return
	}
	c.Checks += len(versions)
	hashes, err := c.hashes(ctx, versions)
	if err != nil && len(versions) > 1 {
		for _, v := range versions {
			c.checkTrees(ctx, []int64{v})
		}
		return
	}
	if err != nil {
		c.violation("v%d cannot be read: %v", versions[0], err)
		return
	}
	for i, v := range versions {
		p := c.store.checkpoints[v]
		switch {
		case p.HasTree(hashes[i]):
		case p.durable || p.Alone:
			c.violation("the tree of v%d has hash %.12s, and was made with %.12s", v, hashes[i], p.Tree)
		default:
			c.checkSaved(ctx, v, p.files)
		}
	}
}

// checkSaved looks whether a checkpoint that was not durable has at least what was
// fsynced before it was made: what others wrote meanwhile it may lack.
func (c *checker) checkSaved(ctx context.Context, v int64, right files) {
	args := []string{"bundlectl", "attach", "--bundle", c.bundle(), "--checkpoint", c.dir(v), "--", "sha256sum"}
	var want []string
	for _, path := range slices.Sorted(maps.Keys(right)) {
		if right[path][0] != "" {
			args, want = append(args, "{}/"+path), append(want, right[path][0])
		}
	}
	if len(want) == 0 {
		return
	}
	c.Checks += len(want)
	out, err := c.run(ctx, args...)
	if err != nil {
		c.violation("v%d has not all files: %v", v, err)
		return
	}
	i := 0
	for line := range strings.Lines(out) {
		if i < len(want) && !strings.HasPrefix(line, want[i]) {
			c.violation("v%d has another file: %s", v, strings.TrimSpace(line))
		}
		i++
	}
}

// hashes attaches the versions aside.
func (c *checker) hashes(ctx context.Context, versions []int64) ([]string, error) {
	args := []string{"bundlectl", "attach", "--bundle", c.bundle()}
	for _, v := range versions {
		args = append(args, "--checkpoint", c.dir(v))
	}
	args = append(append(args, "--"), c.Hasher...)
	for range versions {
		args = append(args, "{}")
	}
	out, err := c.run(ctx, args...)
	hashes := strings.Fields(out)
	if err == nil && len(hashes) != len(versions) {
		err = fmt.Errorf("%d hashes of %d trees", len(hashes), len(versions))
	}
	return hashes, err
}

func (c *checker) dir(version int64) string {
	return filepath.Join(c.Home, "stores", c.name, "checkpoints", fmt.Sprintf("v%d", version))
}

// create makes a checkpoint: its version must be new.
func (c *checker) create(ctx context.Context) {
	c.Checks++
	var made struct {
		Version string `json:"version"`
	}
	if err := c.json(ctx, &made, "agentfs", "checkpoint", "create", "after the crash", "--json", "--store", c.name); err != nil {
		c.violation("checkpoint create: %v", err)
		return
	}
	var v int64
	if _, err := fmt.Sscanf(made.Version, "v%d", &v); err != nil || v <= c.store.used {
		c.violation("version %s is given again: v%d was there", made.Version, c.store.used)
	}
}

// image has e2fsck look at the closed image.
func (c *checker) image(ctx context.Context) {
	c.Checks++
	path := filepath.Join(c.Temp, "image")
	f, err := os.Create(path)
	if err != nil {
		c.violation("image: %v", err)
		return
	}
	defer os.Remove(path)
	err = bandread.Image(c.bundle(), &sparse{file: f})
	if err = errors.Join(err, f.Close()); err != nil {
		c.violation("image: %v", err)
		return
	}
	if out, err := c.run(ctx, "e2fsck", "-fn", path); err != nil {
		c.violation("e2fsck: %v: %s", err, oneLine(out))
	}
}

// restore restores one of the durable checkpoints, which mounts it.
func (c *checker) restore(ctx context.Context) {
	var durable []int64
	for v, p := range c.store.checkpoints {
		if p.durable && !p.maybe {
			durable = append(durable, v)
		}
	}
	if len(durable) == 0 {
		return
	}
	c.Checks++
	slices.Sort(durable)
	v := durable[c.random.IntN(len(durable))]
	if _, err := c.run(ctx, "agentfs", "restore", fmt.Sprintf("v%d", v), "-f", "--store", c.name); err != nil {
		c.violation("restore v%d: %v", v, err)
		return
	}
	hash, err := c.run(ctx, append(slices.Clone(c.Hasher), c.mount)...)
	if err != nil {
		c.violation("restored v%d: %v", v, err)
	} else if hash = strings.TrimSpace(hash); !c.store.checkpoints[v].HasTree(hash) {
		c.violation("restored v%d has hash %.12s, and was made with %.12s", v, hash, c.store.checkpoints[v].Tree)
	}
	if _, err := c.run(ctx, "agentfs", "close", c.name); err != nil {
		c.violation("close after restore: %v", err)
	}
}

// database asks cpdb. What is half made or half deleted is swept in its own time.
func (c *checker) database(ctx context.Context) {
	c.Checks++
	out, err := c.run(ctx, "cpdb", "check")
	if err != nil && out == "" {
		c.violation("cpdb check: %v", err)
	}
	for line := range strings.Lines(out) {
		if kind := problemKind(line); slices.Contains([]string{"corrupt", "missing", "version"}, kind) {
			c.violation("cpdb check: %s", strings.TrimSpace(line))
		}
	}
}

func problemKind(line string) string {
	var problem struct {
		Kind string `json:"kind"`
	}
	rec, err := record.Read(strings.NewReader(line))
	if err != nil || rec.Get("problem", &problem) != nil {
		return "corrupt"
	}
	return problem.Kind
}
