package damage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"agentfs.internal/bandclone/internal/sums"
)

func random(n int, seed byte) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// TestRebuild damages a band of which another version differs in two other blocks.
func TestRebuild(t *testing.T) {
	const size = 20*rebuildBlock + 77
	sound := random(size, 1)
	version := bytes.Clone(sound)
	copy(version[3*rebuildBlock:], "another file")
	copy(version[18*rebuildBlock:], "and one more")
	want := sums.Sum(sha256.Sum256(sound))
	for name, damage := range map[string]func(b []byte) []byte{
		"a bit":          func(b []byte) []byte { b[10*rebuildBlock+5] ^= 4; return b },
		"the last byte":  func(b []byte) []byte { b[size-1]++; return b },
		"five blocks":    func(b []byte) []byte { clear(b[12*rebuildBlock : 16*rebuildBlock]); return b },
		"the end":        func(b []byte) []byte { return b[:19*rebuildBlock+9] },
		"all but a part": func(b []byte) []byte { return b[:6*rebuildBlock] },
		"nothing":        func(b []byte) []byte { return b },
	} {
		made := Rebuild(context.Background(), want, damage(bytes.Clone(sound)), [][]byte{random(size, 2), version})
		if name == "all but a part" { // the other version's third change is in the lost part
			if made != nil {
				t.Errorf("%s: made from nothing", name)
			}
		} else if !bytes.Equal(made, sound) {
			t.Errorf("%s: not made", name)
		}
	}
	far := bytes.Clone(sound)
	far[2*rebuildBlock]++
	far[19*rebuildBlock]++
	if Rebuild(context.Background(), want, far, [][]byte{version}) != nil {
		t.Error("two places: made, though the stretch between them has a block of another version")
	}
}
