//go:build linux

package linux

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"agentfs.internal/tool/fault"
)

var uuidSet = fault.Define("bundlectl.attach.uuid-set")

// setUUID is EXT4_IOC_SETFSUUID: _IOW('f', 44, struct fsuuid), of Linux 6.0. The
// size in it is that of the two numbers: the UUID behind them is a flexible array.
const setUUID = 0x4008662c

// fsUUID is struct fsuuid.
type fsUUID struct {
	length, flags uint32
	uuid          [16]byte
}

// NewUUID gives a mounted ext4 a random UUID. All copies of its superblock are
// written; the checksums stay as they are, for their seed is apart from the UUID.
func (Engine) NewUUID(mount string) error {
	dir, err := os.Open(mount)
	if err != nil {
		return err
	}
	defer dir.Close()
	u := fsUUID{length: 16}
	_, _ = rand.Read(u.uuid[:])       // never fails
	u.uuid[6] = u.uuid[6]&0x0f | 4<<4 // version 4: random
	u.uuid[8] = u.uuid[8]&0x3f | 2<<6 // variant of RFC 9562
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), setUUID, uintptr(unsafe.Pointer(&u)))
	switch {
	case errno == 0:
		return uuidSet.Reach()
	case errors.Is(errno, unix.ENOTTY):
		return fmt.Errorf("new UUID: Linux 6.0 or newer is needed")
	}
	return fmt.Errorf("new UUID: %w", errno)
}
