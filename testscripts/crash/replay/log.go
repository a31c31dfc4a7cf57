//go:build linux

// Package replay makes crash states of whole stores: from a copy of a home, and the
// log of what was done to its images since (bundlectl serve --record), with marks that
// say which files there were, and what was in the database, whenever a tool had ended.
//
// In a crash state each band has what was durable by then, and of what was written
// since as much as the mode wants: all, nothing, or any of it. So the filesystem in
// the image sees a disk with a cache that was lost. What is named in the home is as
// of the last mark: the order of what the tools do there is not looked at.
package replay

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// Record is one record of a log: see bands.Recorder in bundlectl.
type Record struct {
	Kind    uint32
	Session uint64
	A, B    int64
	Data    []byte // part of the log's memory
	End     int64  // where it ends in the log: the time of what it tells of
}

// The kinds of records.
const (
	Start = iota + 1
	End
	Write
	Discard
	FlushBegin
	FlushEnd
	GateClosed
	GateOpened
	Resize
	MarkKind // data: a Mark as JSON
)

const headerSize = 32

// ReadLog reads all of a log.
func ReadLog(path string) ([]Record, error) {
	log, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []Record
	for at := 0; at < len(log); {
		if len(log)-at < headerSize {
			return nil, errors.New("the log's last record is cut off")
		}
		head := log[at : at+headerSize]
		at += headerSize
		n := int(binary.LittleEndian.Uint32(head[4:]))
		if len(log)-at < n {
			return nil, errors.New("the log's last record is cut off")
		}
		r := Record{
			Kind:    binary.LittleEndian.Uint32(head),
			Session: binary.LittleEndian.Uint64(head[8:]),
			A:       int64(binary.LittleEndian.Uint64(head[16:])),
			B:       int64(binary.LittleEndian.Uint64(head[24:])),
			Data:    log[at : at+n],
		}
		at += n
		r.End = int64(at)
		list = append(list, r)
	}
	return list, nil
}

// Position is how long a log is by now.
func Position(log string) int64 {
	st, err := os.Stat(log)
	if err != nil {
		return 0
	}
	return st.Size()
}

// Add appends a mark to a log.
func (m Mark) Add(log string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [headerSize]byte
	binary.LittleEndian.PutUint32(head[0:], MarkKind)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(data)))
	n, err := f.Write(append(head[:], data...)) // at once: others append too
	if err == nil && n != headerSize+len(data) {
		err = io.ErrShortWrite
	}
	return err
}
