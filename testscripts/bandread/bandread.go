//go:build linux

// Package bandread is a reader of bundles that shares no code with bundlectl. It
// reads Info.plist by lines, as sparsebundlefs does: the line after <key>NAME</key>
// holds the value.
package bandread

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Image writes the bundle's image.
func Image(bundle string, out io.Writer) error {
	text, err := os.ReadFile(filepath.Join(bundle, "Info.plist"))
	if err != nil {
		return err
	}
	bandSize, size := plistNumber(string(text), "band-size"), plistNumber(string(text), "size")
	if bandSize <= 0 || size <= 0 {
		return fmt.Errorf("band size %d, size %d", bandSize, size)
	}
	w := bufio.NewWriterSize(out, 1<<20)
	for n := int64(0); n*bandSize < size; n++ {
		if err := copyBand(w, fmt.Sprintf("%s/bands/%x", bundle, n), min(bandSize, size-n*bandSize)); err != nil {
			return err
		}
	}
	return w.Flush()
}

// copyBand copies a band, followed by zeros up to length.
func copyBand(w io.Writer, path string, length int64) error {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		_, err = io.CopyN(w, zeros{}, length)
		return err
	}
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(w, io.LimitReader(f, length))
	if err != nil {
		return err
	}
	_, err = io.CopyN(w, zeros{}, length-n)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func plistNumber(text, key string) int64 {
	lines := strings.Split(text, "\n")
	for i, line := range lines[:len(lines)-1] {
		if strings.TrimSpace(line) != "<key>"+key+"</key>" {
			continue
		}
		value := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(lines[i+1]), "<integer>"), "</integer>")
		n, _ := strconv.ParseInt(value, 10, 64)
		return n
	}
	return 0
}
