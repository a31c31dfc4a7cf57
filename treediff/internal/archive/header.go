package archive

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"agentfs.internal/treediff/internal/dir"
)

// The types of entries, as tar names them.
const (
	typeFile    = '0'
	typeLink    = '1'
	typeSymlink = '2'
	typeChar    = '3'
	typeBlock   = '4'
	typeDir     = '5'
	typeFIFO    = '6'
	typePax     = 'x' // records that go with the next entry
	typeGlobal  = 'g' // and with all
)

// typeOf gives the type of what is no regular file; 0 for a socket, which tar has not.
func typeOf(i *dir.Info) byte {
	switch i.Type() {
	case unix.S_IFDIR:
		return typeDir
	case unix.S_IFLNK:
		return typeSymlink
	case unix.S_IFIFO:
		return typeFIFO
	case unix.S_IFCHR:
		return typeChar
	case unix.S_IFBLK:
		return typeBlock
	case unix.S_IFREG:
		return typeFile
	}
	return 0
}

// entry is what a header says.
type entry struct {
	dir.Info
	kind    byte
	name    string
	target  string            // of a link of either kind
	size    int64             // of the data behind the header
	records map[string]string // of pax, beside those that are needed because a field is too small
}

// tarWriter writes the blocks of a tar. The library's writer is not used because it
// writes no holes, and because what it writes may differ from version to version.
type tarWriter struct {
	w   io.Writer
	buf bytes.Buffer
}

// The largest numbers that the fields of a header take.
const (
	most7  = 0o7777777
	most11 = 0o77777777777
)

// header writes the header of an entry, with the records of pax that it needs before it.
func (t *tarWriter) header(e *entry) error {
	records := e.paxRecords()
	t.buf.Reset()
	if len(records) > 0 {
		t.pax(typePax, "PaxHeaders.0/"+path.Base(e.name), records)
	}
	t.block(e)
	_, err := t.w.Write(t.buf.Bytes())
	return err
}

// comment writes a comment that goes with the whole archive. Readers skip it.
func (t *tarWriter) comment(text string) error {
	t.buf.Reset()
	t.pax(typeGlobal, "pax_global_header", map[string]string{"comment": text})
	_, err := t.w.Write(t.buf.Bytes())
	return err
}

// end writes what an archive ends with.
func (t *tarWriter) end() error {
	_, err := t.w.Write(make([]byte, 2*block))
	return err
}

// paxRecords gives the records that the entry needs.
func (e *entry) paxRecords() map[string]string {
	records := maps.Clone(e.records)
	add := func(key, value string) {
		if records == nil {
			records = map[string]string{}
		}
		records[key] = value
	}
	if !fits(e.name) {
		add("path", e.name)
	}
	if !fits(e.target) {
		add("linkpath", e.target)
	}
	if e.size > most11 {
		add("size", strconv.FormatInt(e.size, 10))
	}
	if e.UID > most7 {
		add("uid", strconv.FormatUint(uint64(e.UID), 10))
	}
	if e.GID > most7 {
		add("gid", strconv.FormatUint(uint64(e.GID), 10))
	}
	if t := e.Mtime; t.Nsec != 0 || t.Sec < 0 || t.Sec > most11 {
		add("mtime", paxTime(t))
	}
	return records
}

// fits tells whether a name can be in a header: what is not ASCII has its encoding
// told by a record.
func fits(name string) bool {
	return len(name) <= 100 && strings.IndexFunc(name, func(r rune) bool { return r >= 0x80 }) < 0
}

// paxTime writes a time in seconds. Before 1970 the fraction counts downwards, too.
func paxTime(t dir.Time) string {
	sign, sec, nsec := "", t.Sec, t.Nsec
	if sec < 0 {
		sign, sec = "-", -sec
		if nsec > 0 {
			sec, nsec = sec-1, 1e9-nsec
		}
	}
	text := sign + strconv.FormatInt(sec, 10)
	if nsec == 0 {
		return text
	}
	return strings.TrimRight(fmt.Sprintf("%s.%09d", text, nsec), "0")
}

// pax adds records as an entry of its own.
func (t *tarWriter) pax(kind byte, name string, records map[string]string) {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(records)) {
		text.WriteString(paxRecord(key, records[key]))
	}
	e := &entry{kind: kind, name: name, size: int64(text.Len())}
	e.Mode = 0o644
	t.block(e)
	t.buf.WriteString(text.String())
	t.buf.Write(make([]byte, padding(int64(text.Len()))))
}

// paxRecord gives "LENGTH KEY=VALUE\n". The length counts its own digits.
func paxRecord(key, value string) string {
	rest := len(key) + len(value) + 3
	size := rest + len(strconv.Itoa(rest))
	if n := rest + len(strconv.Itoa(size)); n != size {
		size = n
	}
	return strconv.Itoa(size) + " " + key + "=" + value + "\n"
}

// padding is how many bytes are missing to a whole block.
func padding(size int64) int64 { return -size & (block - 1) }

// block adds the header itself. Names are cut where a record has them whole.
func (t *tarWriter) block(e *entry) {
	var b [block]byte
	copy(b[0:100], e.name)
	copy(b[157:257], e.target)
	octal(b[100:108], uint64(e.Perm()))
	octal(b[108:116], uint64(min(e.UID, most7)))
	octal(b[116:124], uint64(min(e.GID, most7)))
	octal(b[124:136], uint64(min(e.size, most11)))
	octal(b[136:148], uint64(max(0, min(e.Mtime.Sec, most11))))
	b[156] = e.kind
	copy(b[257:], "ustar\x0000")
	if e.kind == typeChar || e.kind == typeBlock {
		octal(b[329:337], uint64(unix.Major(e.Rdev)))
		octal(b[337:345], uint64(unix.Minor(e.Rdev)))
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sumOf(b[:])))
	t.buf.Write(b[:])
}

// octal fills a field with digits and a zero byte.
func octal(field []byte, n uint64) { copy(field, fmt.Sprintf("%0*o\x00", len(field)-1, n)) }
