package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"agentfs.internal/treediff/internal/dir"
)

// cleanName gives the path of a name below the root, "" for the root itself, and
// refuses one that leads out.
func cleanName(name string) (string, error) {
	if name == "" {
		return "", errors.New("has no name")
	}
	if name[0] == '/' {
		return "", errors.New("is an absolute name")
	}
	if strings.IndexByte(name, 0) >= 0 {
		return "", errors.New("has a zero byte in its name")
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "", ".":
		case "..":
			return "", errors.New("leads out of the tree")
		default:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/"), nil
}

// typeBits are the types of files that entries make; of hard links they do not matter.
var typeBits = map[byte]uint32{
	tar.TypeReg: unix.S_IFREG, tar.TypeCont: unix.S_IFREG, tar.TypeGNUSparse: unix.S_IFREG, tar.TypeLink: unix.S_IFREG,
	tar.TypeDir: unix.S_IFDIR, tar.TypeSymlink: unix.S_IFLNK, tar.TypeFifo: unix.S_IFIFO,
	tar.TypeChar: unix.S_IFCHR, tar.TypeBlock: unix.S_IFBLK,
}

// infoOf gives the metadata of an entry. Who is not root owns what he unpacks.
func infoOf(h *tar.Header) (want dir.Info, err error) {
	bits, known := typeBits[h.Typeflag]
	if !known {
		return want, fmt.Errorf("is of a type that is not known, %q", h.Typeflag)
	}
	if bad := min(h.Uid, h.Gid) < 0 || max(h.Uid, h.Gid) >= math.MaxUint32; bad {
		return want, fmt.Errorf("belongs to nobody, %d:%d", h.Uid, h.Gid)
	}
	if h.Devmajor < 0 || h.Devminor < 0 || h.Devmajor > math.MaxUint32 || h.Devminor > math.MaxUint32 {
		return want, fmt.Errorf("is no device, %d:%d", h.Devmajor, h.Devminor)
	}
	want.Mode = bits | uint32(h.Mode)&0o7777
	want.UID, want.GID = uint32(h.Uid), uint32(h.Gid)
	if os.Geteuid() != 0 {
		want.UID, want.GID = uint32(os.Geteuid()), uint32(os.Getegid())
	}
	want.Rdev = unix.Mkdev(uint32(h.Devmajor), uint32(h.Devminor))
	want.Mtime = dir.Time{Sec: h.ModTime.Unix(), Nsec: int64(h.ModTime.Nanosecond())}
	want.Atime = want.Mtime
	return want, nil
}

// xattrsOf gives the extended attributes of an entry.
func xattrsOf(h *tar.Header) dir.Xattrs {
	var xattrs dir.Xattrs
	for key, value := range h.PAXRecords {
		if name, ok := strings.CutPrefix(key, xattrKey); ok {
			if xattrs == nil {
				xattrs = dir.Xattrs{}
			}
			xattrs[keyUnescapes.Replace(name)] = []byte(value)
		}
	}
	return xattrs
}

// isSparse tells whether an entry is of a file with holes.
func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}
