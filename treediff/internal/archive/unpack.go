package archive

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/trees"
)

var unpackedOne = fault.Define("treediff.unpack.entry") // one more name is there

// Unpack fills a directory. Nothing outside of it is touched, whatever the archive
// says: a name is looked up below the directory, and no symbolic link is followed.
type Unpack struct {
	Into     *dir.Dir       // empty
	Devices  bool           // make devices, too; else one is an error
	Progress                //
	Origin   *record.Origin // where the tree comes from, if the archive tells

	levels []level // open directories, from the root to where the work is
}

// level is a directory into which names are put. It gets its metadata when the archive
// goes on elsewhere: each name in it changes its times, and its mode may be in the way.
type level struct {
	dir    *dir.Dir
	path   string
	dress  bool
	want   dir.Info
	xattrs dir.Xattrs
}

// Run reads an archive to its end. An error names the entry.
func (u *Unpack) Run(ctx context.Context, r io.Reader) error {
	stream, err := decompressed(r)
	if err != nil {
		return err
	}
	source := &tail{Reader: stream}
	defer u.closeLevels()
	root, err := u.Into.Below("")
	if err != nil {
		return err
	}
	u.levels = []level{{dir: root}}
	if err := u.entries(ctx, tar.NewReader(source)); err != nil {
		return err
	}
	if err := source.end(); err != nil {
		return err
	}
	for len(u.levels) > 0 {
		if err := u.leave(); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unpack) entries(ctx context.Context, archive *tar.Reader) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return u.damaged(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			if err := u.origin(h.PAXRecords["comment"]); err != nil {
				return err
			}
			continue
		}
		if err := u.entry(h, &content{Reader: archive, ctx: ctx}); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
		u.Entries.Add(1)
		if err := unpackedOne.Reach(); err != nil {
			return err
		}
	}
}

// content is the data of an entry. It ends with the context.
type content struct {
	io.Reader
	ctx context.Context
}

func (c *content) Read(buf []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	n, err := c.Reader.Read(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		err = broken(err)
	}
	return n, err
}

// damaged says where a stream broke off.
func (u *Unpack) damaged(err error) error {
	return fmt.Errorf("after %d entries: %w", u.Entries.Load(), broken(err))
}

// broken says in people's words what is wrong with a stream.
func broken(err error) error {
	var cause *fs.PathError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the archive ends too early")
	case errors.As(err, &cause):
		return err
	}
	return fmt.Errorf("the archive is damaged: %w", err)
}

// origin reads the comment of an archive of ours; others' have other comments.
func (u *Unpack) origin(comment string) error {
	text, ours := strings.CutPrefix(comment, originKey)
	if !ours {
		return nil
	}
	u.Origin = &record.Origin{}
	if err := json.Unmarshal([]byte(text), u.Origin); err != nil {
		return fmt.Errorf("where the archive comes from cannot be read: %w", err)
	}
	return nil
}

// entry makes what a header says. A name that comes again replaces the one before, as
// tar has it.
func (u *Unpack) entry(h *tar.Header, data io.Reader) error {
	path, err := cleanName(h.Name)
	if err != nil {
		return err
	}
	want, err := infoOf(h)
	if err != nil {
		return err
	}
	if h.Typeflag == tar.TypeDir {
		return u.directory(path, want, xattrsOf(h))
	}
	if path == "" {
		return errors.New("the root of the tree must be a directory")
	}
	at, name := trees.Split(path)
	d, err := u.enter(at)
	if err != nil {
		return err
	}
	if h.Typeflag == tar.TypeLink {
		return u.link(h.Linkname, path, d, name)
	}
	file, err := u.maker(h, want, data)
	if err != nil {
		return err
	}
	if err := replacing(d, name, func() error { return file(d, name) }); err != nil {
		return err
	}
	node, err := d.Node(name)
	if err != nil {
		return err
	}
	defer node.Close()
	return node.Dress(want, xattrsOf(h))
}

// maker gives what makes a file of the type of an entry, without its metadata.
func (u *Unpack) maker(h *tar.Header, want dir.Info, data io.Reader) (func(d *dir.Dir, name string) error, error) {
	switch want.Type() {
	case unix.S_IFREG:
		return func(d *dir.Dir, name string) error { return u.file(d, name, data, h) }, nil
	case unix.S_IFLNK:
		return func(d *dir.Dir, name string) error { return d.Symlink(h.Linkname, name) }, nil
	case unix.S_IFCHR, unix.S_IFBLK:
		if !u.Devices {
			return nil, errors.New("is a device: none is made without --devices")
		}
	}
	return func(d *dir.Dir, name string) error { return d.Mknod(name, want) }, nil
}

// replacing makes a name, in the place of what has it.
func replacing(d *dir.Dir, name string, attempt func() error) error {
	err := attempt()
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, e := d.Stat(name); e == nil && info.IsDir() {
		return errors.New("is a directory already")
	}
	if err := d.Unlink(name); err != nil {
		return err
	}
	return attempt()
}

func (u *Unpack) file(d *dir.Dir, name string, data io.Reader, h *tar.Header) error {
	f, err := d.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := f.Fill(data, h.Size, isSparse(h))
	u.Bytes.Add(n)
	return err
}

// link makes another name of a file that was unpacked before.
func (u *Unpack) link(target, path string, d *dir.Dir, name string) error {
	target, err := cleanName(target)
	if err != nil {
		return fmt.Errorf("a hard link: %w", err)
	}
	if target == path {
		return errors.New("a hard link to itself")
	}
	at, first := trees.Split(target)
	from, err := u.Into.Below(at)
	if err != nil {
		return fmt.Errorf("a hard link to %q: %w", target, onTheWay(err))
	}
	defer from.Close()
	return replacing(d, name, func() error { return from.Link(first, d, name) })
}

// directory makes a directory, or takes the one that is there, and has it get its
// metadata later.
func (u *Unpack) directory(path string, want dir.Info, xattrs dir.Xattrs) error {
	if _, err := u.enter(path); err != nil {
		return err
	}
	top := &u.levels[len(u.levels)-1]
	top.dress, top.want, top.xattrs = true, want, xattrs
	return nil
}

// enter opens the directory at a path, and ends the work in those that it is not in.
// What is missing on the way is made: there are archives without directories.
func (u *Unpack) enter(path string) (*dir.Dir, error) {
	top := func() *level { return &u.levels[len(u.levels)-1] }
	for top().path != path && !trees.IsBelow(path, top().path) {
		if err := u.leave(); err != nil {
			return nil, err
		}
	}
	for top().path != path {
		rest := strings.TrimPrefix(path[len(top().path):], "/")
		name, _, _ := strings.Cut(rest, "/")
		next, err := down(top().dir, name)
		if err != nil {
			return nil, err
		}
		next.path = trees.Join(top().path, name)
		u.levels = append(u.levels, next)
	}
	return top().dir, nil
}

// down opens a directory, or makes it. One that was there keeps its metadata.
func down(d *dir.Dir, name string) (l level, err error) {
	made := d.Mkdir(name)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return l, made
	}
	if l.dir, err = d.Below(name); err != nil {
		return l, onTheWay(err)
	}
	if made == nil {
		return l, l.dir.Chmod(0o755)
	}
	if l.want, err = l.dir.Self(); err == nil {
		l.xattrs, err = l.dir.Xattrs("")
	}
	if l.dress = true; err == nil && os.Geteuid() != 0 {
		err = l.dir.Chmod(l.want.Perm() | 0o700)
	}
	return l, err
}

// onTheWay says what is behind an error where there should be a directory.
func onTheWay(err error) error {
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("a link or a file is on the way: %w", err)
	case dir.IsMount(err):
		return fmt.Errorf("something is mounted on the way: %w", err)
	}
	return err
}

// leave ends the work in the last directory.
func (u *Unpack) leave() error {
	last := len(u.levels) - 1
	l := u.levels[last]
	u.levels = u.levels[:last]
	defer l.dir.Close()
	if !l.dress {
		return nil
	}
	node, err := l.dir.Node("")
	if err != nil {
		return err
	}
	defer node.Close()
	if err := node.Dress(l.want, l.xattrs); err != nil {
		return fmt.Errorf("entry %q: %w", l.path+"/", err)
	}
	return nil
}

func (u *Unpack) closeLevels() {
	for _, l := range u.levels {
		l.dir.Close()
	}
}
