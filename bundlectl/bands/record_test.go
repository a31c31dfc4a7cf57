//go:build linux

package bands

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// TestRecord replays what was logged: at each flush's end and with the gate closed it
// is what the image holds.
func TestRecord(t *testing.T) {
	f := newFixture(t, false)
	path := filepath.Join(t.TempDir(), "log")
	f.must(f.im.Record(path, "the bundle"))
	page := bytes.Repeat([]byte{1}, Align)
	f.must(f.im.WriteAt(page, 3*Align))
	f.must(f.im.WriteAt(bytes.Repeat([]byte{2}, 2*testBand), testBand-Align))
	f.must(f.im.Flush())
	f.im.SetDiscardOnly(true)
	f.must(f.im.Punch(testBand, testBand))
	f.im.CloseGate()
	f.im.OpenGate()
	f.must(f.im.WriteAt(page, 0))
	if err := f.im.WriteAt(page, testSize); err == nil {
		t.Error("a write behind the end was taken")
	}
	f.must(f.im.Close())
	f.open()

	log, err := os.ReadFile(path)
	f.must(err)
	var kinds []byte
	got := make([]byte, testSize)
	for len(log) > 0 {
		kind, n := log[0], binary.LittleEndian.Uint32(log[4:])
		a, b := int64(binary.LittleEndian.Uint64(log[16:])), int64(binary.LittleEndian.Uint64(log[24:]))
		data := log[32 : 32+n]
		switch kind {
		case recordStart:
			if a != testSize || b != testBand || string(data) != "the bundle" {
				t.Errorf("start: %d bytes, bands of %d, %q", a, b, data)
			}
		case recordWrite:
			copy(got[a:], data)
		case recordDiscard:
			clear(got[a : a+b])
			if data[0] != 1 {
				t.Error("discard: sealed bands are not left alone")
			}
		}
		kinds, log = append(kinds, kind), log[32+n:]
	}
	want := []byte{recordStart, recordWrite, recordWrite, recordFlushBegin, recordFlushEnd, recordDiscard,
		recordGateClosed, recordGateOpened, recordWrite, recordFlushBegin, recordFlushEnd, recordEnd}
	if !bytes.Equal(kinds, want) {
		t.Errorf("logged %v, want %v", kinds, want)
	}
	have := make([]byte, testSize)
	f.must(f.im.ReadAt(have, 0))
	if !bytes.Equal(got, have) {
		t.Error("what is replayed is not what the image holds")
	}
}
