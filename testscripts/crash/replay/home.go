//go:build linux

package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// change is a write that is not durable yet.
type change struct {
	at   int64 // when it was done
	off  int64 // in the band
	data []byte
}

// inode is a band's file, by whatever names.
type inode struct {
	names   int
	durable []byte   // what a crash leaves of it for certain
	since   []change // what was written after that, in order
}

// put makes data the file's content at off.
func put(content []byte, c change) []byte {
	if end := int(c.off) + len(c.data); end > len(content) {
		content = append(content, make([]byte, end-len(content))...)
	}
	copy(content[c.off:], c.data)
	return content
}

// settle makes durable what was written until then.
func (n *inode) settle(until int64) {
	for len(n.since) > 0 && n.since[0].at <= until {
		n.durable = put(n.durable, n.since[0])
		n.since = n.since[1:]
	}
}

// content is what is read from the file.
func (n *inode) content() []byte {
	all := append([]byte(nil), n.durable...)
	for _, c := range n.since {
		all = put(all, c)
	}
	return all
}

// session is a band server's time with a bundle.
type session struct {
	bands          string // the directory of its bands, relative to the home
	size, bandSize int64
	begun          int64 // when its last flush has begun
	still          bool  // no band changes: its gate is closed
}

// home is what there is at a moment of the log.
type home struct {
	recorded string // path of the home
	files    map[string]File
	order    []string // their paths, directories before what is in them
	bands    map[string]*inode
	sessions map[uint64]*session
	touched  map[string]bool  // directories of bands that a server had since the last mark
	changed  map[string]int64 // when a server has changed bands in one last
	db       string
	lag      int64 // how much longer than it should a write is not durable
}

// begin reads the home as it was when the log began: a copy of it, and the first mark.
func begin(recorded, base string, first Record, lag int64) (*home, error) {
	var m Mark
	if first.Kind != MarkKind || json.Unmarshal(first.Data, &m) != nil {
		return nil, errors.New("the log does not begin with a mark")
	}
	h := &home{recorded: recorded, bands: map[string]*inode{}, sessions: map[uint64]*session{}, changed: map[string]int64{}, lag: lag}
	byIno := map[uint64]*inode{}
	for _, f := range m.Files {
		if !f.isBand() {
			continue
		}
		if byIno[f.Ino] == nil {
			data, err := os.ReadFile(filepath.Join(base, f.Path))
			if err != nil {
				return nil, err
			}
			byIno[f.Ino] = &inode{durable: data}
		}
		h.name(f.Path, byIno[f.Ino])
	}
	h.take(m)
	return h, nil
}

func (h *home) take(m Mark) {
	h.files, h.order, h.touched = map[string]File{}, nil, map[string]bool{}
	for _, f := range m.Files {
		h.files[f.Path] = f
		h.order = append(h.order, f.Path)
	}
	for _, s := range h.sessions {
		h.touched[s.bands] = true
	}
	if m.DB != "" {
		h.db = m.DB
	}
}

func (h *home) name(path string, n *inode) {
	h.unname(path)
	h.bands[path] = n
	n.names++
}

func (h *home) unname(path string) {
	if n := h.bands[path]; n != nil {
		n.names--
		delete(h.bands, path)
	}
}

// do brings the home to the time after a record.
func (h *home) do(r Record) error {
	if r.Kind == MarkKind {
		var m Mark
		if err := json.Unmarshal(r.Data, &m); err != nil {
			return err
		}
		return h.mark(m, r.End)
	}
	if r.Kind == Start {
		return h.start(r)
	}
	s := h.sessions[r.Session]
	if s == nil {
		return fmt.Errorf("record of a server that has not begun")
	}
	switch r.Kind {
	case Write, Discard:
		h.changed[s.bands] = r.End
	}
	switch r.Kind {
	case Write:
		h.each(s, r.A, int64(len(r.Data)), func(path string, at, from, n int64) {
			h.write(path, h.length(s, path), change{r.End, at, r.Data[from : from+n]})
		})
	case Discard:
		h.each(s, r.A, r.B, func(path string, at, _, n int64) {
			h.discard(path, h.length(s, path), change{r.End, at, make([]byte, n)}, r.Data[0] == 1)
		})
	case FlushBegin:
		s.begun = r.End
	case FlushEnd:
		h.settle(s.bands, s.begun-h.lag)
	case GateClosed, GateOpened:
		s.still = r.Kind == GateClosed
	case Resize:
		s.size = r.A
	case End:
		delete(h.sessions, r.Session)
	}
	return nil
}

func (h *home) start(r Record) error {
	name, err := filepath.Rel(h.recorded, string(r.Data))
	if err != nil {
		return err
	}
	s := &session{bands: filepath.Join(name, "bands"), size: r.A, bandSize: r.B}
	maps.DeleteFunc(h.sessions, func(_ uint64, old *session) bool { return old.bands == s.bands }) // killed, this one takes over
	h.sessions[r.Session] = s
	h.touched[s.bands] = true
	return nil
}

// each calls f for each band that the range touches, with its path, the offset in it,
// the offset in the range and the length.
func (h *home) each(s *session, off, n int64, f func(path string, at, from, n int64)) {
	for from := int64(0); from < n; {
		at := (off + from) % s.bandSize
		part := min(s.bandSize-at, n-from)
		f(fmt.Sprintf("%s/%x", s.bands, (off+from)/s.bandSize), at, from, part)
		from += part
	}
}

// length is that of a full band.
func (h *home) length(s *session, path string) int64 {
	var i int64
	_, _ = fmt.Sscanf(filepath.Base(path), "%x", &i)
	return min(s.bandSize, s.size-i*s.bandSize)
}

// write does what the band server does. A band that is broken out of a checkpoint is
// durable, with what is written, before it has its name.
func (h *home) write(path string, length int64, c change) {
	n := h.bands[path]
	if n == nil {
		n = &inode{durable: make([]byte, length)}
		h.name(path, n)
	} else if n.names > 1 {
		all := n.content()
		n = &inode{durable: put(append(all, make([]byte, max(length-int64(len(all)), 0))...), c)}
		h.name(path, n)
		return
	}
	n.since = append(n.since, c)
}

// discard removes a whole band; a part of a sealed one is left alone where nobody cares
// for its content.
func (h *home) discard(path string, length int64, c change, leave bool) {
	n := h.bands[path]
	switch {
	case n == nil, n.names > 1 && leave && int64(len(c.data)) < length:
	case int64(len(c.data)) == length:
		h.unname(path)
	default:
		h.write(path, length, c)
	}
}

// settle makes durable what was written to the bands in a directory until then.
func (h *home) settle(dir string, until int64) {
	for path, n := range h.bands {
		if filepath.Dir(path) == dir {
			n.settle(until)
		}
	}
}

// mark takes over what there is in the home now, bands by the inode numbers of those
// that were known.
func (h *home) mark(m Mark, at int64) error {
	known, err := h.known(m)
	if err != nil {
		return fmt.Errorf("%s: %w", m.What, err)
	}
	bands := map[string]*inode{}
	there := map[string]bool{}
	for _, f := range m.Files {
		there[f.Path] = true
		if !f.isBand() || h.touched[filepath.Dir(f.Path)] {
			continue
		}
		if bands[f.Path] = known[f.Ino]; bands[f.Path] == nil {
			return fmt.Errorf("%s: nobody knows what band %s is", m.What, f.Path)
		}
	}
	for path, n := range h.bands {
		if dir := filepath.Dir(path); h.touched[dir] && there[dir] {
			bands[path] = n
		} else if bands[path] == nil {
			h.unname(path)
		}
	}
	for path, n := range bands {
		h.name(path, n)
	}
	h.take(m)
	for _, dir := range m.Synced {
		h.settle(dir, at-h.lag)
	}
	return nil
}

// known finds out which inode number is which band: those of the last mark and, of the
// bands that a server has had since, what the replay has made of them. (No number is
// used again: the home was on tmpfs, which counts them up.)
func (h *home) known(m Mark) (map[uint64]*inode, error) {
	known := map[uint64]*inode{}
	for path, n := range h.bands {
		if !h.touched[filepath.Dir(path)] {
			known[h.files[path].Ino] = n
		}
	}
	for _, f := range m.Files {
		n, dir := h.bands[f.Path], filepath.Dir(f.Path)
		if n == nil || !h.touched[dir] {
			continue
		}
		if have := known[f.Ino]; have == nil {
			known[f.Ino] = n
		} else if have != n && h.still(dir) && h.changed[dir] <= m.Looked {
			return nil, fmt.Errorf("band %s is not the file that it should be", f.Path)
		}
	}
	return known, nil
}

// still tells whether nobody changes the bands in a directory.
func (h *home) still(dir string) bool {
	for _, s := range h.sessions {
		if s.bands == dir && !s.still {
			return false
		}
	}
	return true
}

// isLive tells whether these are a bundle's bands.
func isLive(path string) bool { return strings.HasSuffix(filepath.Dir(path), ".sparsebundle/bands") }
