//go:build linux

// Package host records what the tools do to AGENTFS_HOME, a directory of the host's,
// and builds what a power cut at any moment could have left of it.
//
// The record is made by a filesystem (see Mount) that hands everything on to a
// directory below it and logs whatever changes something, in the order in which it
// happened and before it is answered. The states are built from that log alone (see
// Log.Cut), by several models of what a host keeps that was not synced.
//
// What is not seen: syncfs(2) and sync(2), which FUSE does not pass on. Who relies on
// these alone is found to have synced nothing.
package host

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Kind is what an operation does.
type Kind uint8

// The kinds of operations, with the fields of Op that they use. A file is known by its
// inode number in the directory below, which must not be used twice.
const (
	Create    Kind = iota + 1 // Dir, Name; Ino is the new file's; Mode
	Mkdir                     // Dir, Name; Ino; Mode. The first operation of a log: the root, in no directory
	Symlink                   // Dir, Name; Ino; Data is the target
	Link                      // Dir, Name: another name of Ino
	Unlink                    // Dir, Name; Ino
	Rmdir                     // Dir, Name; Ino
	Rename                    // Dir, Name become Dir2, Name2; Ino; Mode has RENAME_EXCHANGE
	Write                     // Ino, Off, Data
	Truncate                  // Ino, Len
	Fallocate                 // Ino, Off, Len; Mode as of fallocate(2)
	Chmod                     // Ino, Mode
	SyncBegin                 // Ino: fsync or fdatasync of a file or directory is asked for
	SyncEnd                   // Ino; Len is the number of its SyncBegin. What was logged before that is durable
)

// Op is one operation.
type Op struct {
	Kind        Kind
	Mode        uint32
	Ino         uint64
	Dir, Dir2   uint64
	Off, Len    int64
	Name, Name2 string
	Data        []byte
	End         int64 // bytes of the log up to the end of this operation
}

// header is an operation in the file, followed by names and data.
type header struct {
	Kind         Kind
	_            [3]byte
	Mode         uint32
	Ino          uint64
	Dir, Dir2    uint64
	Off, Len     int64
	Name1, Name2 uint16 // bytes
	Data         uint32 // bytes
}

// writer appends operations to a log.
type writer struct {
	file *os.File
	ops  int64 // how many there are
	buf  []byte
}

// add appends an operation by one write: the file's length is always the end of an
// operation that has happened.
func (w *writer) add(op Op) error {
	h := header{Kind: op.Kind, Mode: op.Mode, Ino: op.Ino, Dir: op.Dir, Dir2: op.Dir2, Off: op.Off, Len: op.Len,
		Name1: uint16(len(op.Name)), Name2: uint16(len(op.Name2)), Data: uint32(len(op.Data))}
	b, err := binary.Append(w.buf[:0], binary.LittleEndian, h)
	if err != nil {
		return err
	}
	b = append(append(append(b, op.Name...), op.Name2...), op.Data...)
	w.buf, w.ops = b, w.ops+1
	_, err = w.file.Write(b)
	return err
}

// Log is a whole record.
type Log struct {
	Ops    []Op
	deps   [][2]int32     // see dependencies
	makers map[uint64]int // file to the operation that made it
	data   []byte         // the mapping
}

// Read reads a log. Data of operations stay where they are, in a mapping of the file.
func Read(path string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s: no log", path))
	}
	all, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	l := &Log{makers: map[uint64]int{}, data: all}
	if err := l.parse(all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l.deps = dependencies(l.Ops)
	return l, nil
}

// Close ends it: the data of its operations are gone.
func (l *Log) Close() error { return unix.Munmap(l.data) }

// At is how many operations had been logged when the log was that many bytes long.
func (l *Log) At(position int64) int {
	n, _ := slices.BinarySearchFunc(l.Ops, position+1, func(op Op, end int64) int { return cmp.Compare(op.End, end) })
	return n
}

// made gives the operation that made a file.
func (l *Log) made(ino uint64) *Op { return &l.Ops[l.makers[ino]] }

func (l *Log) parse(all []byte) error {
	size := binary.Size(header{})
	for at := 0; at < len(all); {
		var h header
		if _, err := binary.Decode(all[at:], binary.LittleEndian, &h); err != nil {
			return io.ErrUnexpectedEOF
		}
		names := at + size
		data := names + int(h.Name1) + int(h.Name2)
		end := data + int(h.Data)
		if end > len(all) {
			return io.ErrUnexpectedEOF
		}
		l.Ops = append(l.Ops, Op{Kind: h.Kind, Mode: h.Mode, Ino: h.Ino, Dir: h.Dir, Dir2: h.Dir2, Off: h.Off, Len: h.Len,
			Name: string(all[names : names+int(h.Name1)]), Name2: string(all[names+int(h.Name1) : data]),
			Data: all[data:end], End: int64(end)})
		if h.Kind == Create || h.Kind == Mkdir || h.Kind == Symlink {
			l.makers[h.Ino] = len(l.Ops) - 1
		}
		at = end
	}
	return nil
}
