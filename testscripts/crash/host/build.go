//go:build linux

package host

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"
)

// Build makes the state in the empty directory dir, which stands for the root of the
// recording filesystem.
func (s *State) Build(dir string) error {
	b := &builder{state: s, names: map[uint64]map[string]uint64{}, changes: map[uint64][]int{}, paths: map[uint64]string{}}
	for i, kept := range s.kept {
		if kept != lost {
			b.apply(i)
		}
	}
	root := s.log.Ops[0].Ino
	if err := b.fill(root, dir); err != nil {
		return err
	}
	return b.renumber()
}

// builder holds the tree as it is to be made.
type builder struct {
	state   *State
	names   map[uint64]map[string]uint64 // directory to name to file
	changes map[uint64][]int             // file to the operations that changed it and are kept
	paths   map[uint64]string            // file to where it has been built
}

func (b *builder) apply(i int) {
	op := &b.state.log.Ops[i]
	switch op.Kind {
	case Create, Mkdir, Symlink, Link:
		b.set(op.Dir, op.Name, op.Ino)
	case Unlink, Rmdir:
		delete(b.names[op.Dir], op.Name)
	case Rename:
		other := b.names[op.Dir2][op.Name2]
		b.set(op.Dir2, op.Name2, op.Ino)
		if op.Mode&unix.RENAME_EXCHANGE != 0 {
			b.set(op.Dir, op.Name, other)
		} else {
			delete(b.names[op.Dir], op.Name)
		}
	case Write, Truncate, Fallocate, Chmod:
		b.changes[op.Ino] = append(b.changes[op.Ino], i)
	}
}

func (b *builder) set(dir uint64, name string, ino uint64) {
	if b.names[dir] == nil {
		b.names[dir] = map[string]uint64{}
	}
	b.names[dir][name] = ino
}

// fill makes what is in a directory.
func (b *builder) fill(dir uint64, path string) error {
	for name, ino := range b.names[dir] {
		if name == "" {
			continue // the root is in no directory
		}
		if err := b.make(ino, filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) make(ino uint64, path string) error {
	if first := b.paths[ino]; first != "" {
		return os.Link(first, path)
	}
	b.paths[ino] = path
	// Its first name may be lost, and another one be there.
	op := b.state.log.made(ino)
	switch op.Kind {
	case Mkdir:
		if err := unix.Mkdir(path, op.Mode); err != nil {
			return &os.PathError{Op: "mkdir", Path: path, Err: err}
		}
		return b.fill(ino, path)
	case Symlink:
		return os.Symlink(string(op.Data), path)
	case Create:
		return b.file(path, op.Mode, b.changes[ino])
	}
	panic("made by what makes nothing")
}

// file makes a file by the changes that are kept.
func (b *builder) file(path string, mode uint32, changes []int) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "create", Path: path, Err: err}
	}
	defer unix.Close(fd)
	for _, i := range changes {
		op := &b.state.log.Ops[i]
		switch op.Kind {
		case Write:
			err = b.write(fd, i)
		case Truncate:
			err = unix.Ftruncate(fd, op.Len)
		case Fallocate:
			err = unix.Fallocate(fd, op.Mode, op.Off, op.Len)
		case Chmod:
			mode = op.Mode
		}
		if err != nil {
			return &os.PathError{Op: "build", Path: path, Err: err}
		}
	}
	return unix.Fchmod(fd, mode&0o7777)
}

const sector = 512

func (b *builder) write(fd, i int) error {
	op := &b.state.log.Ops[i]
	if b.state.kept[i] == whole {
		_, err := unix.Pwrite(fd, op.Data, op.Off)
		return err
	}
	r := rand.New(rand.NewPCG(b.state.seed, uint64(i)))
	for at := 0; at < len(op.Data); at += sector {
		if r.IntN(2) == 0 {
			continue
		}
		part := op.Data[at:min(at+sector, len(op.Data))]
		if _, err := unix.Pwrite(fd, part, op.Off+int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// numbered are the names by which a bundle tells the new bands of a restore from the
// old ones: they have the inode number of the new ones in them.
var numbered = regexp.MustCompile(`^(bands\.(?:swap|aside)-)(\d+)$`)

// renumber gives the directories of an unfinished restore names with the numbers that
// they have here.
func (b *builder) renumber() error {
	for _, path := range b.paths {
		match := numbered.FindStringSubmatch(filepath.Base(path))
		if match == nil {
			continue
		}
		ino, err := strconv.ParseUint(match[2], 10, 64)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if there := b.paths[ino]; there == "" || unix.Lstat(there, &st) != nil {
			continue
		}
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), match[1]+strconv.FormatUint(st.Ino, 10))); err != nil {
			return err
		}
	}
	return nil
}
