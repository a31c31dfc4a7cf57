//go:build linux

package linux

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
)

// Files mounts the checkpoint aside and asks each file where it lies. What is in use in
// the bands and is no file's data is the filesystem's own.
func (e Engine) Files(ctx context.Context, path, dir string, bands []int64) ([]engine.Within, error) {
	if err := e.Check(ctx); err != nil {
		return nil, err
	}
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	root, device, err := mountAside(b, dir)
	if err != nil {
		return nil, wrap("attach", dir, err)
	}
	defer root.Close()
	s := newSurvey(b.Info, bands)
	if err := s.walk(ctx, root); err != nil {
		return nil, err
	}
	return s.within(device)
}

// survey finds out whose the blocks of some bands are.
type survey struct {
	size   int64 // of a band
	bands  []int64
	files  []map[string]bool
	theirs []map[int64]bool // blocks that belong to files
	lost   []string         // paths that could not be looked at
}

func newSurvey(info bundle.Info, bands []int64) *survey {
	s := &survey{size: info.BandSize, bands: bands}
	for range bands {
		s.files, s.theirs = append(s.files, map[string]bool{}), append(s.theirs, map[int64]bool{})
	}
	return s
}

// walk looks at every file of a tree. What cannot be looked at is itself hit by damage.
func (s *survey) walk(ctx context.Context, root *os.File) error {
	tree := os.DirFS(fmt.Sprintf("/proc/self/fd/%d", root.Fd()))
	return fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			s.lost = append(s.lost, path)
			return nil
		}
		if d.Type().IsRegular() && s.file(tree, path) != nil {
			s.lost = append(s.lost, path)
		}
		return nil
	})
}

func (s *survey) file(tree fs.FS, path string) error {
	f, err := tree.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return fileExtents(f.(*os.File), func(at, n int64, written bool) { s.extent(path, at, n, written) })
}

// extent notes a stretch of the device that a file has.
func (s *survey) extent(path string, at, n int64, written bool) {
	for i, band := range s.bands {
		lo, hi := max(at, band*s.size), min(at+n, (band+1)*s.size)
		if lo >= hi {
			continue
		}
		if written {
			s.files[i][path] = true
		}
		for b := lo / block; b*block < hi; b++ {
			s.theirs[i][b] = true
		}
	}
}

// within gives what lies in each of the bands.
func (s *survey) within(device string) ([]engine.Within, error) {
	dev, err := os.Open(device)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	k := &bookkeeping{image: dev, bitmaps: map[int64][]byte{}}
	if k.layout, err = readLayout(dev); err != nil || k.blockSize != block {
		k.layout = nil // then anything may be anywhere
	}
	list := make([]engine.Within, len(s.bands))
	for i := range s.bands {
		list[i].Structures = k.layout == nil || s.others(k, i)
		for path := range s.files[i] {
			list[i].Files = append(list[i].Files, path)
		}
		if list[i].Structures {
			list[i].Files = append(list[i].Files, s.lost...)
		}
		slices.Sort(list[i].Files)
		list[i].Files = slices.Compact(list[i].Files)
	}
	return list, nil
}

// others tells whether a band has blocks that are in use and no file's. What cannot be
// read may be.
func (s *survey) others(k *bookkeeping, i int) bool {
	for b := s.bands[i] * s.size / block; b < (s.bands[i]+1)*s.size/block; b++ {
		if s.theirs[i][b] {
			continue
		}
		if used, err := k.inUse(b); used || err != nil {
			return true
		}
	}
	return false
}
