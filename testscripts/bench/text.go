package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// text makes the contents of files: lines that look like JavaScript, and that
// compress about as well.
type text struct {
	rnd   *rand.Rand
	lines []byte
	buf   bytes.Buffer
}

const textSize = 4 << 20

func newText(rnd *rand.Rand) *text {
	t := &text{rnd: rnd}
	words := vocabulary(rnd, 6000)
	often := rand.NewZipf(rnd, 1.1, 4, uint64(len(words)-1))
	word := func() string { return words[often.Uint64()] }
	forms := []string{"  const %s = %s.%s(%s);\n", "  if (%s.%s !== %s) return %s;\n", "// %s %s %s %s\n",
		"function %s(%s, %s, %s) {\n", "    \"%s\": \"%s/%s.%s\",\n", "exports.%s = require('./%s/%s-%s');\n"}
	var b bytes.Buffer
	for b.Len() < textSize {
		fmt.Fprintf(&b, forms[rnd.IntN(len(forms))], word(), word(), word(), word())
	}
	t.lines = b.Bytes()
	return t
}

func vocabulary(rnd *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		w := make([]byte, 2+rnd.IntN(10))
		for k := range w {
			w[k] = "etaoinsrhldcumfpgwybvk"[rnd.IntN(22)]
		}
		words[i] = string(w)
	}
	return words
}

// some gives n bytes, put together from pieces of the lines. They are good until
// the next call.
func (t *text) some(n int64) []byte {
	t.buf.Reset()
	for int64(t.buf.Len()) < n {
		piece := min(100+t.rnd.IntN(900), int(n)-t.buf.Len())
		at := t.rnd.IntN(len(t.lines) - piece)
		t.buf.Write(t.lines[at : at+piece])
	}
	return t.buf.Bytes()
}
