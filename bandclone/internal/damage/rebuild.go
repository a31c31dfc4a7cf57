package damage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"hash"

	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/sums"
)

// rebuildBlock is the piece of a band that is taken from one version of it or another:
// the block of the filesystem in it.
const rebuildBlock = 4096

// rebuildBudget bounds the bytes that are hashed for one band.
const rebuildBudget = 1 << 30

// Rebuild gives a band the content of a sum, from what is left of it and from other
// versions of the band, in which other blocks may have been written: one stretch of
// blocks is replaced by another version's, or by zeros. It is nil where none of that
// has the sum.
func Rebuild(ctx context.Context, want sums.Sum, left []byte, versions [][]byte) []byte {
	r := &rebuilding{want: want, budget: rebuildBudget}
	for _, v := range append(versions, make([]byte, longest(left, versions))) {
		if made := r.from(ctx, left, v); made != nil {
			return made
		}
	}
	return nil
}

// ReadLeft reads what can be read of a file; what cannot is zeros.
func ReadLeft(d *dir.Dir, name string) []byte {
	f, err := d.OpenFile(name, 0, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	buf := make([]byte, info.Size())
	for at := 0; at < len(buf); at += rebuildBlock {
		p := buf[at:min(at+rebuildBlock, len(buf))]
		if n, err := f.ReadAt(p, int64(at)); err != nil {
			clear(p[n:])
		}
	}
	return buf
}

func longest(left []byte, versions [][]byte) int {
	n := len(left)
	for _, v := range versions {
		n = max(n, len(v))
	}
	return n
}

type rebuilding struct {
	want   sums.Sum
	budget int
}

// from replaces stretches of left by those of another version, short ones first.
func (r *rebuilding) from(ctx context.Context, left, version []byte) []byte {
	base := bytes.Clone(version)
	copy(base, left[:min(len(left), len(base))])
	differ := differences(base, version)
	if r.fits(sha256.New(), base) { // its end was lost, or it can be read by now
		return base
	}
	before := prefixes(base, differ)
	for length := 1; length <= len(differ); length++ {
		for i := 0; i+length <= len(differ); i++ {
			if r.budget <= 0 || ctx.Err() != nil {
				return nil
			}
			from, to := differ[i], min(differ[i+length-1]+rebuildBlock, len(base))
			h := before[i].clone()
			_, _ = h.Write(version[from:to])
			r.budget -= to - from
			if r.fits(h, base[to:]) {
				copy(base[from:to], version[from:to])
				return base
			}
		}
	}
	return nil
}

// fits tells whether a hash that goes on with rest is the one that is wanted.
func (r *rebuilding) fits(h hash.Hash, rest []byte) bool {
	_, _ = h.Write(rest)
	r.budget -= len(rest)
	return bytes.Equal(h.Sum(nil), r.want[:])
}

// differences gives the offsets of the blocks that differ.
func differences(a, b []byte) []int {
	var list []int
	for at := 0; at < len(a); at += rebuildBlock {
		end := min(at+rebuildBlock, len(a))
		if !bytes.Equal(a[at:end], b[at:end]) {
			list = append(list, at)
		}
	}
	return list
}

// prefix is the hash of what stands before an offset.
type prefix struct{ hash.Cloner }

func (p prefix) clone() hash.Hash {
	c, _ := p.Clone() // SHA-256 always can
	return c
}

func prefixes(base []byte, offsets []int) []prefix {
	list, h, at := make([]prefix, len(offsets)), sha256.New(), 0
	for i, offset := range offsets {
		_, _ = h.Write(base[at:offset])
		at = offset
		list[i] = prefix{prefix{h.(hash.Cloner)}.clone().(hash.Cloner)}
	}
	return list
}
