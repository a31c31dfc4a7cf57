package main

import (
	"os"
	"path/filepath"
)

// mountLink is a symbolic link in a store's directory to where the store was last
// mounted. It answers the question in whose mount the caller stands without the
// database: a process less on the way to a checkpoint.
const mountLink = ".mount"

// linkMount notes where a store is mounted. Without the note the database is asked.
func (a *app) linkMount(name, mount string) {
	link := filepath.Join(a.lockDir(name), mountLink)
	if target, err := os.Readlink(link); err == nil && target == mount {
		return
	}
	_ = os.Remove(link)
	_ = os.Symlink(mount, link)
}

// linkedHere gives the store in whose mount dir is, by the notes; "" if they do not
// tell. A note counts only while its mountpoint is one, and dir is on it.
func (a *app) linkedHere(dir string) string {
	stores, err := os.ReadDir(filepath.Join(a.home, "stores"))
	if err != nil {
		return ""
	}
	for _, s := range stores {
		target, err := os.Readlink(filepath.Join(a.lockDir(s.Name()), mountLink))
		if err == nil && within(dir, target) && isMountOf(dir, target) {
			return s.Name()
		}
	}
	return ""
}

// isMountOf tells whether target is a mountpoint and dir on its filesystem.
func isMountOf(dir, target string) bool {
	on, err := device(target)
	if err != nil {
		return false
	}
	parent, err := device(filepath.Dir(target))
	if err != nil || parent == on {
		return false
	}
	here, err := device(dir)
	return err == nil && here == on
}
