//go:build !darwin

package hdiutil

// syncVolume is for the tests on other systems, where no volume is behind mount.
func syncVolume(mount string) error { return syncDir(mount) }
