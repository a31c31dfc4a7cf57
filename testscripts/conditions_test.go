//go:build linux

package testscripts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// condition answers for a machine. On CI's, which has everything, what is missing
// is an error: else a scenario could be skipped for ever and nobody would notice.
func condition(name string) (bool, error) {
	var missing string
	switch name {
	case "sys_resource": // CI's machine lacks it
		return hasSysResource(), nil
	case "mount":
		missing = cannotMount()
	case "xfs", "btrfs":
		missing = cannotMake(name)
	case "resend":
		missing = cannotResend()
	case "memcg":
		missing = cannotLimitMemory()
	default:
		return false, fmt.Errorf("unknown condition %q", name)
	}
	if missing != "" && os.Getenv("CI") != "" {
		return false, fmt.Errorf("CI's machine must have %s: %s", name, missing)
	}
	return missing == "", nil
}

func cannotMount() string {
	if os.Getuid() != 0 {
		return "not root"
	}
	for _, dev := range []string{"/dev/fuse", "/dev/loop-control"} {
		f, err := os.OpenFile(dev, os.O_RDWR, 0)
		if err != nil {
			return err.Error()
		}
		f.Close()
	}
	return lacks("mkfs.ext4")
}

func lacks(program string) string {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return ""
		}
	}
	return "no " + program
}

// cannotMake asks for the kernel's part too; a module is loaded by the mount.
func cannotMake(fs string) string {
	if missing := lacks("mkfs." + fs); missing != "" {
		return missing
	}
	known, err := os.ReadFile("/proc/filesystems")
	if err == nil && strings.Contains(string(known), "\t"+fs+"\n") {
		return ""
	}
	if err := exec.Command("modprobe", fs).Run(); err != nil {
		return "the kernel has no " + fs
	}
	return ""
}

// cannotResend: a band server can be replaced from Linux 6.9 on.
func cannotResend() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	var major, minor int
	if _, err := fmt.Sscanf(string(text), "%d.%d", &major, &minor); err != nil || major < 6 || major == 6 && minor < 9 {
		return "Linux " + strings.TrimSpace(string(text))
	}
	return ""
}

func cannotLimitMemory() string {
	for _, file := range []string{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/cgroup.subtree_control"} {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err == nil {
			f.Close()
			return ""
		}
	}
	return "no memory controller that can be written"
}

// hasSysResource reads bit 24, CAP_SYS_RESOURCE, of the effective capabilities.
func hasSysResource() bool {
	text, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(text), "\nCapEff:")
	caps, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]), 16, 64)
	return err == nil && caps&(1<<24) != 0
}
