package dir

import "golang.org/x/sys/unix"

// Time is a file's time: it reaches further than nanoseconds in 64 bits do.
type Time struct{ Sec, Nsec int64 }

// Info is what is known of one file. Its zero value is a file that is not there.
type Info struct {
	Dev, Ino, Nlink, Rdev uint64
	Mode                  uint32 // type and permissions, as in st_mode
	UID, GID              uint32
	Size                  int64 // bytes
	Allocated             int64 // bytes that the file takes on the disk
	Atime, Mtime, Ctime   Time
}

// There tells whether there is such a file.
func (i *Info) There() bool { return i.Mode != 0 }

// Type is the S_IF… bits.
func (i *Info) Type() uint32 { return i.Mode & unix.S_IFMT }

// Perm is the permissions with the setuid, setgid and sticky bits.
func (i *Info) Perm() uint32 { return i.Mode & 0o7777 }

// IsDir tells whether it is a directory.
func (i *Info) IsDir() bool { return i.Type() == unix.S_IFDIR }

// IsRegular tells whether it is a regular file.
func (i *Info) IsRegular() bool { return i.Type() == unix.S_IFREG }

// IsSymlink tells whether it is a symbolic link.
func (i *Info) IsSymlink() bool { return i.Type() == unix.S_IFLNK }

// TypeName is the type's name in records.
func (i *Info) TypeName() string {
	switch i.Type() {
	case unix.S_IFDIR:
		return "dir"
	case unix.S_IFLNK:
		return "symlink"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFCHR:
		return "char"
	case unix.S_IFBLK:
		return "block"
	}
	return "file"
}

func info(st *unix.Stat_t) Info {
	return Info{
		Dev: uint64(st.Dev), Ino: st.Ino, Nlink: uint64(st.Nlink), Rdev: uint64(st.Rdev),
		Mode: uint32(st.Mode), UID: st.Uid, GID: st.Gid,
		Size: st.Size, Allocated: st.Blocks * 512,
		Atime: moment(st.Atim), Mtime: moment(st.Mtim), Ctime: moment(st.Ctim),
	}
}

func moment(t unix.Timespec) Time {
	sec, nsec := t.Unix()
	return Time{sec, nsec}
}

func (t Time) timespec() unix.Timespec {
	var ts unix.Timespec
	ts.Sec, ts.Nsec = t.Sec, t.Nsec
	return ts
}
