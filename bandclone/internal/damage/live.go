package damage

import (
	"path/filepath"
	"slices"
	"strings"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/record"
)

// OpenLost reads which damaged bands a repair has kept: a directory PREFIXvN beside the
// checkpoints has those of vN, with SUFFIX behind their names.
func (s *Search) OpenLost(checkpoints, prefix, suffix string) {
	s.lost = map[fileID]kept{}
	for _, t := range slices.Concat(s.Trees, s.Known) {
		if filepath.Dir(t.Path) != checkpoints || t.version() == 0 {
			continue
		}
		lost, err := dir.Open(filepath.Join(checkpoints, prefix+filepath.Base(t.Path)))
		if err != nil {
			continue // there is none
		}
		names, _ := lost.Names(func(name string) bool { return strings.Contains(name, suffix) })
		for _, name := range names {
			band, _, _ := strings.Cut(name, suffix)
			num, ok := bands.Number([]byte(band))
			if info, err := lost.Stat(name); ok && err == nil {
				s.lost[fileID{info.Dev, info.Ino}] = kept{t, num}
			}
		}
		lost.Close()
	}
}

// kept is where a damaged band was.
type kept struct {
	tree *Tree
	num  uint64
}

// live adds the live bands that are the damaged files of a checkpoint, or were until that
// was repaired.
func (s *Search) live() {
	if s.Live == nil {
		return
	}
	damaged := map[uint64]*finding{}
	for i := range s.found {
		f := &s.found[i]
		if has, ok := f.tree.find(f.num); f.want != nil && ok && f.Kind != record.DamageMissing {
			damaged[has.ino] = f
		}
	}
	for _, f := range s.Live.files {
		if of := damaged[f.ino]; of != nil && of.tree.dev == s.Live.dev && of.num == f.num {
			s.addLive(of.Name, of.Kind, of)
			continue
		}
		was, ok := s.lost[fileID{s.Live.dev, f.ino}]
		if !ok || was.num != f.num {
			continue
		}
		if sum, ok := was.tree.list[f.num]; ok {
			s.addLive(bands.Name(f.num), record.DamageChanged, &finding{tree: was.tree, num: f.num, want: &sum})
		}
	}
}

func (s *Search) addLive(name, kind string, of *finding) {
	f := finding{tree: s.Live, num: of.num, want: of.want}
	f.Damage = record.Damage{Dir: s.Live.Path, Name: name, Kind: kind, Why: "the live bands have it, too", Sum: of.want.String()}
	s.found = append(s.found, f)
}
