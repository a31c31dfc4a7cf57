package hdiutil

import "golang.org/x/sys/unix"

// syncVolume writes out what the volume has in memory: sync(2) starts all writes,
// and the full sync of its root waits for the drive.
func syncVolume(mount string) error {
	if err := unix.Sync(); err != nil {
		return err
	}
	return syncDir(mount)
}
