package main

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// tree is a directory of files to be copied wherever it is needed.
type tree struct {
	key    string // "many" or "few"
	dir    string
	files  []string // without .git, relative to dir
	doomed string   // a directory in it, whose loss is the accident that a restore cures
	title  string
}

// makeTrees makes the two trees: a project with its packages and its history, and
// the same bytes in few files.
func (b *bench) makeTrees(ctx context.Context) (many, few *tree, err error) {
	b.say("making %d files", b.size.files)
	many = &tree{key: "many", dir: filepath.Join(b.dir, "many"), doomed: "src"}
	if err := b.makeProject(ctx, many.dir); err != nil {
		return nil, nil, err
	}
	few = &tree{key: "few", dir: filepath.Join(b.dir, "few"), doomed: "part0"}
	if err := repack(many.dir, few.dir, b.size.few); err != nil {
		return nil, nil, err
	}
	return many, few, firstOf(many.survey(), few.survey())
}

// survey lists the files and says how large the tree is.
func (t *tree) survey() error {
	var count, bytes int64
	err := filepath.WalkDir(t.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		count++
		bytes += info.Size()
		if rel := strings.TrimPrefix(path, t.dir+"/"); !strings.HasPrefix(rel, ".git/") && !strings.HasPrefix(rel, t.doomed+"/") {
			t.files = append(t.files, rel)
		}
		return nil
	})
	t.title = fmt.Sprintf("%s files, %s MB", grouped(float64(count)), digits(float64(bytes)/1e6))
	return err
}

// edit adds a line to a file of a copy of the tree, in each run to another one.
func (t *tree) edit(dir string, n int) error {
	return appendLine(filepath.Join(dir, t.files[(n*7919+17)%len(t.files)]), fmt.Sprintf("// edit %d", n))
}

// harm is the accident: a part of a copy of the tree is gone.
func (t *tree) harm(dir string) error { return os.RemoveAll(filepath.Join(dir, t.doomed)) }

// healed tells whether a restore has brought back what the accident took.
func (t *tree) healed(dir string) error {
	_, err := os.Stat(filepath.Join(dir, t.doomed))
	return err
}

// gitShare is the part of the bytes that lies in .git, as text compresses.
const gitShare = 0.295

// makeProject writes a source tree with its packages, as npm lays them out, and
// commits all of it.
func (b *bench) makeProject(ctx context.Context, dir string) error {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := newText(rnd)
	paths := projectPaths(rnd, b.size.files)
	for i, n := range fileSizes(rnd, len(paths), int64(float64(b.size.bytes)*(1-gitShare))) {
		if err := write(filepath.Join(dir, paths[i]), words.some(n)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	// Large files go to a pack at once, and all are large here. What is packed
	// already is only copied after that.
	return sh(dir, `git init -q
		git -c core.bigFileThreshold=1 -c core.compression=1 add -A
		git commit -q -m "all of it"
		git -c pack.window=0 repack -adq`).run(ctx)
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func packageName(i int) string { return fmt.Sprintf("package-%d", i) }

// projectPaths: one file in twenty is the project's own, the others belong to
// packages of some 40 files, now and then with packages of their own.
func projectPaths(rnd *rand.Rand, n int) []string {
	parts := []string{"lib", "dist", "dist/esm", "src/internal", "test/fixtures/deep", "types", "."}
	var paths []string
	home := ""
	for i, left := 0, 0; len(paths) < n; left-- {
		if left <= 0 {
			home, left = "node_modules/"+packageName(i), 10+rnd.IntN(60)
			if rnd.IntN(4) == 0 && i > 0 {
				home = fmt.Sprintf("node_modules/%s/node_modules/inner-%d/node_modules/inmost", packageName(rnd.IntN(i)), i)
			}
			i++
		}
		dir := home
		if len(paths)%20 == 0 {
			dir = fmt.Sprintf("src/module%d", rnd.IntN(40))
		}
		paths = append(paths, filepath.Join(dir, parts[rnd.IntN(len(parts))], fmt.Sprintf("file%d.js", len(paths))))
	}
	return paths
}

// fileSizes: half of the files are below 3 KB, few hold most of the bytes.
func fileSizes(rnd *rand.Rand, n int, total int64) []int64 {
	raw, sum := make([]float64, n), 0.0
	for i := range raw {
		raw[i] = math.Min(math.Exp(rnd.NormFloat64()*1.8), 400)
		sum += raw[i]
	}
	sizes := make([]int64, n)
	for i := range sizes {
		sizes[i] = max(1, int64(raw[i]/sum*float64(total)))
	}
	return sizes
}
