//go:build linux

package testscripts

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// takeDown looks for what a scenario that worked below dir has left, names it and
// takes it down.
func takeDown(dir string) []string {
	ids := bundleIDs(dir)
	left := stay(dir, ids)
	for _, mount := range mountsBelow(dir) {
		_ = syscall.Unmount(mount, syscall.MNT_DETACH)
	}
	for range 50 { // one that dies is replaced by its standby, but not for ever
		for _, pid := range serversOf(dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for _, id := range ids {
		_ = os.Remove(runDir + id + ".sock")
		_ = os.Remove(runDir + id + ".log")
	}
	return left
}

// stay names what stays. A server that ends needs a moment for it, more where the
// kernel has many files to forget.
func stay(dir string, ids []string) []string {
	var left []string
	for range 100 {
		left = nil
		for _, mount := range mountsBelow(dir) {
			left = append(left, "mount "+mount)
		}
		for _, pid := range serversOf(dir) {
			left = append(left, fmt.Sprint("band server ", pid))
		}
		left = append(left, loopsOf(dir, ids)...)
		left = append(left, runEntries(ids)...)
		if len(left) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return left
}

// mountsBelow gives the mountpoints below dir, the last one first. Mountinfo
// writes odd characters in octal, but dir has none.
func mountsBelow(dir string) []string {
	var mounts []string
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		if at := strings.Fields(line)[4]; strings.HasPrefix(at, dir+"/") {
			mounts = append(mounts, at)
		}
	}
	slices.Reverse(mounts)
	return mounts
}

// serversOf gives the band servers of bundles below dir.
func serversOf(dir string) []int {
	var pids []int
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("\x00serve\x00"+dir+"/")) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// bundleIDs gives the names by which bundlectl calls the bundles below dir: device
// and inode of their directories, which a mount over them would hide.
func bundleIDs(dir string) []string {
	var ids []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if !d.IsDir() || !strings.HasSuffix(path, ".sparsebundle") {
			return nil
		}
		var st syscall.Stat_t
		if syscall.Stat(path, &st) == nil {
			ids = append(ids, fmt.Sprintf("%x-%x", st.Dev, st.Ino))
		}
		return fs.SkipDir
	})
	return ids
}

// loopsOf gives the loop devices on bundles and on images below dir.
func loopsOf(dir string, ids []string) []string {
	var loops []string
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		name := strings.TrimSpace(string(text))
		id, ours := strings.CutPrefix(filepath.Base(name), "agentfs-")
		if ours && slices.Contains(ids, id) || strings.HasPrefix(name, dir+"/") {
			loops = append(loops, strings.Split(file, "/")[3]+" on "+name)
		}
	}
	return loops
}

const runDir = "/run/agentfs/"

// runEntries gives what the band servers of the bundles have in /run. A log in
// which something was said may stay.
func runEntries(ids []string) []string {
	var entries []string
	for _, id := range ids {
		for _, name := range []string{id + ".sock", id + ".log"} {
			st, err := os.Stat(runDir + name)
			if err == nil && st.Size() == 0 {
				entries = append(entries, runDir+name)
			}
		}
	}
	return entries
}
