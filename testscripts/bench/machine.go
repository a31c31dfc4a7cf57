package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"agentfs.internal/tool/size"
)

// machine is what the figures hold for.
type machine struct {
	Date, Version, Kernel, CPU, Memory, Filesystem string
}

func (m machine) table() string {
	return markdown([][]string{
		{"machine", ""}, {"date", m.Date}, {"version", m.Version}, {"kernel", m.Kernel},
		{"CPU", m.CPU}, {"memory", m.Memory}, {"filesystem", m.Filesystem},
	})
}

func (b *bench) lookAround(ctx context.Context) (machine, error) {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return machine{}, err
	}
	version, err := exec.CommandContext(ctx, "agentfs", "--version").Output()
	if err != nil {
		return machine{}, err
	}
	fs, err := exec.CommandContext(ctx, "findmnt", "-n", "-o", "FSTYPE,OPTIONS", "-T", b.dir).Output()
	if err != nil {
		return machine{}, err
	}
	return machine{
		Date: time.Now().UTC().Format(time.DateOnly), Version: one(version), Kernel: one(kernel),
		CPU:        fmt.Sprintf("%d × %s", runtime.NumCPU(), fact("/proc/cpuinfo", "model name")),
		Memory:     memory(),
		Filesystem: one(fs),
	}, nil
}

func one(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }

func memory() string {
	var kib int64
	_, _ = fmt.Sscan(fact("/proc/meminfo", "MemTotal"), &kib)
	return size.Format(kib << 10)
}

// fact finds "name : value" in a file of the kernel's.
func fact(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "?"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "?"
}
