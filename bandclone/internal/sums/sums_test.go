package sums

import (
	"bytes"
	"errors"
	"testing"
)

// TestParse: what was written is read, and everything else is damaged.
func TestParse(t *testing.T) {
	list := List{0: {1}, 10: {2}, 255: {3}}
	text := list.text()
	if got, err := parse(text); err != nil || len(got) != 3 || got[255] != list[255] {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		if _, err := parse(bad); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d of %d: %v", i, len(text), err)
		}
		if _, err := parse(text[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if _, err := parse(append(bytes.Clone(text), '\n')); !errors.Is(err, ErrDamaged) {
		t.Errorf("one line more: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(List{0: {1}, 10: {2}}.text())
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parse(text)
		if err == nil && !bytes.Equal(list.text(), text) {
			t.Error("taken for whole, and another when written again")
		}
	})
}
