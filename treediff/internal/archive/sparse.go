package archive

import (
	"bytes"
	"fmt"
	"path"
	"strconv"

	"agentfs.internal/treediff/internal/dir"
)

// segment is a part of a file that holds data.
type segment struct{ at, size int64 }

const (
	grain        = 4096    // holes are whole blocks of this size
	mostSegments = 1 << 14 // of one file: readers keep the list in memory, up to 1 MiB of text
)

// zeros is a block of a hole.
var zeros [grain]byte

// segments finds the data of a file with holes: the blocks that are not all zeros.
// Where the filesystem says that data begins and ends only saves reading: that can
// differ between two copies of a file. Of too many the shortest holes are filled.
func (p *Pack) segments(f *dir.File) ([]segment, error) {
	l := segmentList{gap: 1}
	for pos := f.NextData(0); pos < f.Size; pos = f.NextData(pos) {
		pos &^= grain - 1
		n, err := f.ReadAt(p.buf[:min(f.Size-pos, int64(len(p.buf)))], pos)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break // Size no longer holds: to be told when the data is written
		}
		for at := 0; at < n; at += grain {
			part := p.buf[at:min(at+grain, n)]
			if !bytes.Equal(part, zeros[:len(part)]) {
				l.add(segment{pos + int64(at), int64(len(part))})
			}
		}
		pos += int64(n)
	}
	return l.list, nil
}

// segmentList keeps a list of segments short.
type segmentList struct {
	list []segment
	gap  int64 // shorter holes are filled
}

func (l *segmentList) add(s segment) {
	l.list = join(l.list, s, l.gap)
	for len(l.list) > mostSegments {
		l.gap = max(2*l.gap, 2*grain)
		old := l.list
		l.list = l.list[:0]
		for _, s := range old {
			l.list = join(l.list, s, l.gap)
		}
	}
}

// join adds a segment behind the others, to the last one where the hole between is
// shorter than gap.
func join(list []segment, s segment, gap int64) []segment {
	if n := len(list); n > 0 {
		if last := &list[n-1]; s.at-(last.at+last.size) < gap {
			last.size = s.at + s.size - last.at
			return list
		}
	}
	return append(list, s)
}

// sparse makes the entry one of a file with holes, as GNU tar writes them ("PAX 1.0"),
// and gives the list of segments that goes before the data.
func (e *entry) sparse(data []segment) []byte {
	realSize := e.size
	end := int64(0)
	if n := len(data); n > 0 {
		end = data[n-1].at + data[n-1].size
	}
	if end < realSize {
		data = append(data[:len(data):len(data)], segment{realSize, 0})
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%d\n", len(data))
	e.size = 0
	for _, s := range data {
		fmt.Fprintf(&text, "%d\n%d\n", s.at, s.size)
		e.size += s.size
	}
	text.Write(make([]byte, padding(int64(text.Len()))))
	e.size += int64(text.Len())
	at, base := path.Split(e.name)
	e.records = map[string]string{
		"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
		"GNU.sparse.name": e.name, "GNU.sparse.realsize": strconv.FormatInt(realSize, 10),
	}
	e.name = at + "GNUSparseFile.0/" + base
	return text.Bytes()
}
