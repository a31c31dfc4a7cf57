//go:build linux

package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// Mark says what there was in a home at a moment, bands by their inode numbers.
type Mark struct {
	What   string   `json:"what"`             // the command that begins or has ended, for people
	Looked int64    `json:"looked"`           // length of the log when this was looked at: a band may have changed since
	Synced []string `json:"synced,omitempty"` // checkpoints that it has made durable, relative to the home
	DB     string   `json:"db,omitempty"`     // directory with a copy of the database; "" for the last one
	Files  []File   `json:"files"`            // all but the database, directories before what is in them
}

// File is one name in a home.
type File struct {
	Path string `json:"path"` // relative
	Mode uint32 `json:"mode"` // as stat(2) has it
	Ino  uint64 `json:"ino,omitempty"`
	Data []byte `json:"data,omitempty"` // of a file that is no band; of a symbolic link its target
}

// largest is the size in bytes of the largest file that is no band.
const largest = 1 << 20

var bandName = regexp.MustCompile(`^(0|[1-9a-f][0-9a-f]*)$`)

// isBand: what is called like a band is one, wherever it lies.
func (f File) isBand() bool {
	return f.Mode&syscall.S_IFMT == syscall.S_IFREG && bandName.MatchString(filepath.Base(f.Path))
}

// Look lists a home. What vanishes meanwhile is not in it.
func Look(home string) ([]File, error) {
	var list []File
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(home, path)
		if err != nil || name == "." || passing(name) {
			return err
		}
		f, err := look(path, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		list = append(list, f)
		return err
	})
	return list, err
}

// passing tells whether it is none of ours: the database, of which there are copies,
// or a band in the making.
func passing(name string) bool {
	return strings.HasPrefix(name, "agentfs.db") || strings.HasPrefix(filepath.Base(name), ".band-")
}

func look(path, name string) (File, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return File{}, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	f := File{Path: name, Mode: st.Mode, Ino: st.Ino}
	var err error
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFLNK:
		var target string
		target, err = os.Readlink(path)
		f.Data = []byte(target)
	case syscall.S_IFREG:
		if f.isBand() {
			break
		}
		if st.Size > largest {
			return f, fmt.Errorf("%s: what is it?", path)
		}
		f.Data, err = os.ReadFile(path)
	}
	return f, err
}
