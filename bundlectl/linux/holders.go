//go:build linux

package linux

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxHolders is how many processes a message names.
const maxHolders = 8

// holders names the processes that keep a mount busy, as "bash (pid 123, working
// directory)". Only links of /proc are read, never what they point to: a look at
// a file of a dead mount would hang.
func holders(mount string) []string {
	var list []string
	for _, pid := range pids() {
		if how := holds(pid, mount); how != "" {
			list = append(list, describe(pid, how))
		}
		if len(list) == maxHolders {
			return append(list, "…")
		}
	}
	return list
}

func pids() []string {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for i, d := range dirs {
		dirs[i] = filepath.Base(d)
	}
	return dirs
}

func describe(pid, how string) string {
	name, _ := os.ReadFile(filepath.Join("/proc", pid, "comm"))
	return fmt.Sprintf("%s (pid %s, %s)", strings.TrimSpace(string(name)), pid, how)
}

// holds tells how a process holds the mount, "" if it does not.
func holds(pid, mount string) string {
	dir := filepath.Join("/proc", pid)
	for _, l := range []struct{ name, how string }{{"cwd", "working directory"}, {"root", "root directory"}, {"exe", "running program"}} {
		if target, err := os.Readlink(filepath.Join(dir, l.name)); err == nil && below(target, mount) {
			return l.how
		}
	}
	fds, _ := os.ReadDir(filepath.Join(dir, "fd"))
	for _, fd := range fds {
		if target, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil && below(target, mount) {
			return "open file " + target
		}
	}
	if mapped := mapsBelow(dir, mount); mapped != "" {
		return "mapped file " + mapped
	}
	return ""
}

func mapsBelow(dir, mount string) string {
	f, err := os.Open(filepath.Join(dir, "maps"))
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if _, path, ok := strings.Cut(s.Text(), "/"); ok && below("/"+path, mount) {
			return "/" + path
		}
	}
	return ""
}

func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// namespacesWith names one process for each mount namespace other than ours in
// which the device is mounted.
func namespacesWith(device string) []string {
	own, _ := os.Readlink("/proc/self/ns/mnt")
	seen := []string{own}
	var list []string
	for _, pid := range pids() {
		ns, err := os.Readlink(filepath.Join("/proc", pid, "ns/mnt"))
		if err != nil || slices.Contains(seen, ns) {
			continue
		}
		seen = append(seen, ns)
		text, err := os.ReadFile(filepath.Join("/proc", pid, "mountinfo"))
		if err == nil && strings.Contains(string(text), " "+device+" ") {
			list = append(list, describe(pid, "mount namespace"))
		}
	}
	return list
}
