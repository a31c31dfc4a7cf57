// Package archive writes a directory tree as one stream, and reads it back: a pax tar,
// plain or compressed.
//
// What is written hangs on the tree alone: names are sorted, and nothing of the
// machine, of the moment or of the number of processors is in it. Only directories on
// the way to where the work is, and files with more than one name, are in memory.
package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Formats are the names of what Pack can write, the usual one first.
var Formats = []string{"tar.zst", "tar"}

const (
	block     = 512
	xattrKey  = "SCHILY.xattr." // how star, GNU tar and libarchive name extended attributes
	originKey = "agentfs "      // how a comment begins that holds a record.Origin
)

// Progress is how far the work is. It may be read meanwhile.
type Progress struct {
	Entries atomic.Int64 // names
	Bytes   atomic.Int64 // of data in files, without holes
}

// window is what the compressor remembers, in bytes: with it, it takes some 20 MB
// whatever goes through it.
const window = 8 << 20

// compressed gives where to write an archive of a format, to be closed. The settings
// are not those of the machine: the same tree is to give the same bytes everywhere.
func compressed(w io.Writer, format string) (io.WriteCloser, error) {
	if !slices.Contains(Formats, format) {
		return nil, fmt.Errorf("unknown format %q", format)
	}
	if format == "tar" {
		return plain{w}, nil
	}
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(window))
}

// plain needs no closing.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// mostWindow is the largest window that a compressed archive may ask for, in bytes:
// as much as zstd itself takes without being told to.
const mostWindow = 128 << 20

// decompressed finds out by the first bytes what it has been given.
func decompressed(r io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	head, err := in.Peek(block)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case len(head) == 0:
		return nil, errors.New("the archive is empty")
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return zstd.NewReader(in, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(mostWindow))
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return gzip.NewReader(in)
	case isHeader(head):
		return in, nil
	}
	return nil, errors.New("neither a tar nor one that is compressed with zstd or gzip")
}

// isHeader tells whether a block begins a tar: its checksum is right, or it is one of
// the zeros that an empty one begins with.
func isHeader(b []byte) bool {
	if len(b) < block {
		return false
	}
	want, err := parseOctal(b[148:156])
	return err == nil && want == sumOf(b) || allZero(b)
}

func parseOctal(field []byte) (n int64, err error) {
	digits := bytes.Trim(field, " \x00")
	_, err = fmt.Sscanf(string(digits), "%o", &n)
	return n, err
}

// sumOf is the checksum of a header: that of its bytes, with spaces where it will be.
func sumOf(b []byte) (sum int64) {
	for i, c := range b[:block] {
		if 148 <= i && i < 156 {
			c = ' '
		}
		sum += int64(c)
	}
	return sum
}

func allZero(b []byte) bool {
	return len(bytes.TrimLeft(b, "\x00")) == 0
}
