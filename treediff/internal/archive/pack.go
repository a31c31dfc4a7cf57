package archive

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"agentfs.internal/tool/record"
	"agentfs.internal/treediff/internal/dir"
	"agentfs.internal/treediff/internal/trees"
)

// Pack writes a tree.
type Pack struct {
	Tree     *dir.Dir
	Format   string         // one of Formats
	Origin   *record.Origin // travels with it; nil for none
	Progress                //
	Mounts   []string       // left out: something is mounted there
	Sockets  []string       // left out: tar has no word for them

	tar   tarWriter
	names map[uint64]*firstName // files with names to come, by inode number
	buf   []byte
}

// firstName is how a file with more than one name was written.
type firstName struct {
	name string
	left uint64 // names that have not come
}

// Run writes the archive to w. What goes away meanwhile is left out; a file that gets
// shorter meanwhile is an error.
func (p *Pack) Run(ctx context.Context, w io.Writer) error {
	out, err := compressed(w, p.Format)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 1<<18)
	p.tar.w, p.names, p.buf = buffered, map[uint64]*firstName{}, make([]byte, 1<<20)
	if err := p.origin(); err != nil {
		return err
	}
	if err := p.directory(ctx, p.Tree, ""); err != nil {
		return err
	}
	if err := p.tar.end(); err != nil {
		return err
	}
	return errors.Join(buffered.Flush(), out.Close())
}

// origin says where the tree comes from.
func (p *Pack) origin() error {
	if p.Origin == nil {
		return nil
	}
	text, err := json.Marshal(p.Origin)
	if err != nil {
		return err
	}
	return p.tar.comment(originKey + string(text))
}

// directory writes a directory and what is in it.
func (p *Pack) directory(ctx context.Context, d *dir.Dir, path string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	self, err := d.Self()
	if err != nil {
		return err
	}
	name := "./"
	if path != "" {
		name = path + "/"
	}
	if err := p.entry(d, "", &entry{Info: self, kind: typeDir, name: name}); err != nil {
		return err
	}
	entries, err := d.Entries()
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(x, y dir.Entry) int { return strings.Compare(x.Name, y.Name) })
	for _, e := range entries {
		err := p.name(ctx, d, path, e.Name)
		if err != nil && !dir.Gone(err) {
			return err
		}
	}
	return nil
}

// name writes what a name in a directory is.
func (p *Pack) name(ctx context.Context, d *dir.Dir, at, name string) error {
	path := trees.Join(at, name)
	info, err := d.Stat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return p.below(ctx, d, path, name)
	}
	e := &entry{Info: info, kind: typeOf(&info), name: path}
	if e.kind == 0 {
		p.Sockets = append(p.Sockets, path)
		return nil
	}
	if first := p.first(e); first != "" {
		e.kind, e.target = typeLink, first
		return p.written(p.tar.header(e))
	}
	switch e.kind {
	case typeFile:
		if err = p.file(ctx, d, name, e); err != nil {
			delete(p.names, e.Ino) // its next name is the first
		}
		return err
	case typeSymlink:
		if e.target, err = d.Readlink(name); err != nil {
			return err
		}
	}
	return p.entry(d, name, e)
}

// below writes the directory name of d, unless something is mounted there.
func (p *Pack) below(ctx context.Context, d *dir.Dir, path, name string) error {
	sub, err := d.Below(name)
	if dir.IsMount(err) {
		p.Mounts = append(p.Mounts, path)
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	return p.directory(ctx, sub, path)
}

// first gives the name by which a file was written already, "" for none. It forgets
// it with the last one.
func (p *Pack) first(e *entry) string {
	if e.Nlink < 2 {
		return ""
	}
	f := p.names[e.Ino]
	if f == nil {
		p.names[e.Ino] = &firstName{e.name, e.Nlink - 1}
		return ""
	}
	if f.left--; f.left == 0 {
		delete(p.names, e.Ino)
	}
	return f.name
}

// entry writes a header, with the extended attributes of name in d.
func (p *Pack) entry(d *dir.Dir, name string, e *entry) error {
	xattrs, err := d.Xattrs(name)
	if err != nil {
		return err
	}
	e.dress(xattrs)
	return p.written(p.tar.header(e))
}

func (p *Pack) written(err error) error {
	p.Entries.Add(1)
	return err
}

// dress gives an entry extended attributes. In a key of pax there is no "=": it is
// written as GNU tar does.
func (e *entry) dress(xattrs dir.Xattrs) {
	for name, value := range xattrs {
		if e.records == nil {
			e.records = map[string]string{}
		}
		e.records[xattrKey+keyEscapes.Replace(name)] = string(value)
	}
}

var (
	keyEscapes   = strings.NewReplacer("%", "%25", "=", "%3D")
	keyUnescapes = strings.NewReplacer("%25", "%", "%3D", "=")
)

// file writes a regular file.
func (p *Pack) file(ctx context.Context, d *dir.Dir, name string, e *entry) error {
	f, err := d.OpenFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	e.Info, e.size = f.Info, f.Size
	data := []segment{{0, f.Size}}
	var list []byte
	if f.Sparse() {
		if data, err = p.segments(f); err != nil {
			return err
		}
		list = e.sparse(data)
	}
	if err := p.entry(d, name, e); err != nil {
		return err
	}
	if _, err := p.tar.w.Write(list); err != nil {
		return err
	}
	for _, s := range data {
		if err := p.data(ctx, f, s); err != nil {
			return err
		}
	}
	_, err = p.tar.w.Write(make([]byte, padding(e.size)))
	return err
}

// data writes a part of a file.
func (p *Pack) data(ctx context.Context, f *dir.File, s segment) error {
	for pos, end := s.at, s.at+s.size; pos < end; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		want := min(end-pos, int64(len(p.buf)))
		n, err := f.ReadAt(p.buf[:want], pos)
		if err == nil && int64(n) < want {
			err = fmt.Errorf("%s: has become shorter meanwhile", f.Path())
		}
		if err == nil {
			_, err = p.tar.w.Write(p.buf[:n])
		}
		if err != nil {
			return err
		}
		pos += int64(n)
		p.Bytes.Add(int64(n))
	}
	return nil
}
