//go:build linux

package bands

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A Recorder logs what is done to an image, for tests that replay it up to a crash.
// Several may append to one file, which then has the order of all. A record is a
// header of 32 bytes, numbers little endian, and length bytes of data:
//
//	kind    uint32
//	length  uint32
//	session uint64  which recorder: a random number
//	a, b    int64
//
//	kind         a              b            data
//	start        image's bytes  band's bytes path of the bundle
//	end                                      no change is taken any more
//	write        offset                      what was written
//	discard      offset         bytes        one byte: 1 where sealed bands are left alone
//	flush begin  its number
//	flush end    its number
//	gate closed
//	gate opened
//	resize       image's bytes
//	mark                                     whatever a test wants to note
//
// A change is logged when it is done and before it is acknowledged, and before the
// gate closes if it was let through. So what is logged before a flush begins is
// durable when that has ended. What has failed is not logged.
type Recorder struct {
	file    *os.File
	session uint64
	flushes int64       // guarded by Image.flushing
	ended   atomic.Bool // nothing is logged any more
}

// The kinds of records.
const (
	recordStart = iota + 1
	recordEnd
	recordWrite
	recordDiscard
	recordFlushBegin
	recordFlushEnd
	recordGateClosed
	recordGateOpened
	recordResize
	_ // mark: not ours
)

// Record logs from now on what is done to the image, at the end of the file at path.
// To be called before the first change.
func (im *Image) Record(path, bundle string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	im.recorder = &Recorder{file: f, session: rand.Uint64()}
	return im.recorder.add(recordStart, im.Size(), im.BandSize, []byte(bundle))
}

// StopRecording logs that no change is taken any more.
func (im *Image) StopRecording() error { return im.recorder.end() }

// add appends a record, at once with others or not at all. A nil recorder does
// nothing.
func (r *Recorder) add(kind uint32, a, b int64, data []byte) error {
	if r == nil || r.ended.Load() {
		return nil
	}
	var head [32]byte
	binary.LittleEndian.PutUint32(head[0:], kind)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(data)))
	binary.LittleEndian.PutUint64(head[8:], r.session)
	binary.LittleEndian.PutUint64(head[16:], uint64(a))
	binary.LittleEndian.PutUint64(head[24:], uint64(b))
	n, err := unix.Writev(int(r.file.Fd()), [][]byte{head[:], data})
	if err == nil && n != len(head)+len(data) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

func (r *Recorder) discard(off, n int64, leave bool) error {
	var data [1]byte
	if leave {
		data[0] = 1
	}
	return r.add(recordDiscard, off, n, data[:])
}

func (r *Recorder) flushBegin() error {
	if r == nil {
		return nil
	}
	r.flushes++
	return r.add(recordFlushBegin, r.flushes, 0, nil)
}

func (r *Recorder) flushEnd() error {
	if r == nil {
		return nil
	}
	return r.add(recordFlushEnd, r.flushes, 0, nil)
}

// end logs that this was all.
func (r *Recorder) end() error {
	if r == nil {
		return nil
	}
	err := r.add(recordEnd, 0, 0, nil)
	r.ended.Store(true)
	return err
}

func (r *Recorder) close() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.end(), r.file.Close())
}
