package dir

import (
	"bytes"
	"errors"
	"maps"
	"strings"

	"golang.org/x/sys/unix"
)

// Xattrs are the extended attributes of one file: those of access control lists
// and capabilities are among them.
type Xattrs map[string][]byte

// Equal tells whether two files have the same ones.
func (x Xattrs) Equal(y Xattrs) bool { return maps.EqualFunc(x, y, bytes.Equal) }

// Xattrs reads those of name in d, of d itself for "". A filesystem without
// extended attributes has none.
func (d *Dir) Xattrs(name string) (Xattrs, error) {
	x, err := readXattrs(d.link(name), name != "")
	return x, d.fail("read extended attributes of", name, err)
}

// readXattrs reads those at a path, of a link itself with nofollow.
func readXattrs(path string, nofollow bool) (Xattrs, error) {
	list, get := unix.Llistxattr, unix.Lgetxattr
	if !nofollow {
		list, get = unix.Listxattr, unix.Getxattr
	}
	names, err := grow(func(buf []byte) (int, error) { return list(path, buf) })
	if err != nil || len(names) == 0 {
		return nil, err
	}
	x := Xattrs{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		value, err := grow(func(buf []byte) (int, error) { return get(path, name, buf) })
		if isNoXattr(err) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		x[name] = value
	}
	return x, nil
}

// grow calls with larger buffers until what there is fits; no extended
// attributes at all are no bytes.
func grow(call func(buf []byte) (int, error)) ([]byte, error) {
	var small [256]byte
	buf := small[:]
	for {
		n, err := call(buf)
		switch {
		case errors.Is(err, unix.ERANGE):
			n, err = call(nil)
			if err != nil {
				return nil, err
			}
			buf = make([]byte, n+64)
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EOPNOTSUPP):
			return nil, nil
		case err != nil:
			return nil, err
		default:
			return bytes.Clone(buf[:n]), nil
		}
	}
}
