package patch

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
)

// sniffed is how many bytes git looks at to tell text from binary.
const sniffed = 8000

func isBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), sniffed)], 0) >= 0
}

// writeBinary writes both sides whole, the new one first; git apply -R takes the
// second.
func writeBinary(w *bufio.Writer, before, after []byte) {
	w.WriteString("GIT binary patch\n")
	writeLiteral(w, after)
	writeLiteral(w, before)
}

func writeLiteral(w *bufio.Writer, content []byte) {
	fmt.Fprintf(w, "literal %d\n", len(content))
	lines := &base85{out: w}
	z := zlib.NewWriter(lines)
	z.Write(content) // errors are kept by w
	z.Close()
	lines.flush()
	w.WriteByte('\n')
}

const digits85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// base85 writes lines of up to 52 bytes in git's base 85: a letter for the
// number of bytes, then five digits for every four bytes, the last four filled
// up with zeros.
type base85 struct {
	out    *bufio.Writer
	line   [52]byte
	used   int
	digits [5]byte
}

func (e *base85) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := copy(e.line[e.used:], rest)
		rest, e.used = rest[n:], e.used+n
		if e.used == len(e.line) {
			e.flush()
		}
	}
	return len(p), nil
}

func (e *base85) flush() {
	if e.used == 0 {
		return
	}
	clear(e.line[e.used:])
	if e.used <= 26 {
		e.out.WriteByte(byte('A' + e.used - 1))
	} else {
		e.out.WriteByte(byte('a' + e.used - 27))
	}
	for i := 0; i < e.used; i += 4 {
		e.five(binary.BigEndian.Uint32(e.line[i:]))
	}
	e.out.WriteByte('\n')
	e.used = 0
}

func (e *base85) five(n uint32) {
	for i := len(e.digits) - 1; i >= 0; i-- {
		e.digits[i] = digits85[n%85]
		n /= 85
	}
	e.out.Write(e.digits[:])
}
