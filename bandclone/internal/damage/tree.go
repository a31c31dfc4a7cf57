// Package damage finds what of a checkpoint is not as it was made: by the names in its
// directory, by what record.json beside the bands tells, and by the sums of the bands.
package damage

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/bandclone/internal/sums"
	"agentfs.internal/tool/record"
)

// ErrNote says that record.json cannot be what create wrote.
var ErrNote = errors.New("not as it was written")

// ReadNote reads what record.json in a checkpoint's directory tells of it. The error is
// fs.ErrNotExist where there is none, ErrNote where it is damaged.
func ReadNote(d *dir.Dir) (*record.Checkpoint, error) {
	f, err := d.OpenFile(record.CheckpointFile, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	rec := record.New()
	var cp record.Checkpoint
	if rec.UnmarshalJSON(text) != nil || rec.Get("checkpoint", &cp) != nil || cp.Bands <= 0 {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrNote)
	}
	return &cp, nil
}

// Tree is a directory of bands with what is known of them.
type Tree struct {
	Path      string
	dir       *dir.Dir
	dev       uint64
	files     []file   // the bands, by number
	foreign   []string // names that are neither bands nor notes, and bands that are no files
	size      int64    // of all bands
	longest   int64    // band
	list      sums.List
	listErr   error // why there is no list, or only some of it; fs.ErrNotExist: not summed
	recovered bool  // the list was damaged, and is whole again
	note      *record.Checkpoint
	noteErr   error
}

// file is one band.
type file struct {
	num, ino uint64
	size     int64
}

// Open reads a directory of bands and what stands beside them.
func Open(path string) (*Tree, error) {
	d, err := dir.Open(path)
	if err != nil {
		return nil, err
	}
	t := &Tree{Path: path, dir: d}
	if err := t.read(); err != nil {
		d.Close()
		return nil, err
	}
	return t, nil
}

// Close closes the directory.
func (t *Tree) Close() { t.dir.Close() }

func (t *Tree) read() error {
	self, err := t.dir.Self()
	if err != nil {
		return err
	}
	t.dev = self.Dev
	names, err := t.dir.Names(func(name string) bool { return !bands.IsNote(name) })
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := t.add(name); err != nil {
			return err
		}
	}
	slices.SortFunc(t.files, func(a, b file) int { return cmp.Compare(a.num, b.num) })
	slices.Sort(t.foreign)
	t.list, t.listErr = sums.Read(t.dir)
	t.note, t.noteErr = ReadNote(t.dir)
	return nil
}

func (t *Tree) add(name string) error {
	num, ok := bands.Number([]byte(name))
	info, err := t.dir.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	if !ok || !info.IsRegular() {
		t.foreign = append(t.foreign, name)
		return nil
	}
	t.files = append(t.files, file{num, info.Ino, info.Size})
	t.size += info.Size
	t.longest = max(t.longest, info.Size)
	return nil
}

// find gives the band of a number.
func (t *Tree) find(num uint64) (file, bool) {
	i, ok := slices.BinarySearchFunc(t.files, num, func(f file, n uint64) int { return cmp.Compare(f.num, n) })
	if !ok {
		return file{}, false
	}
	return t.files[i], true
}

// Summed tells whether it is known what the bands should hold.
func (t *Tree) summed() bool { return t.listErr == nil || t.recovered }

// Unsummed tells whether that was never known.
func (t *Tree) Unsummed() bool { return errors.Is(t.listErr, fs.ErrNotExist) }

// version is the number in the directory's name, 0 where there is none.
func (t *Tree) version() uint64 {
	v, _ := stage.Version(filepath.Base(t.Path))
	return v
}
