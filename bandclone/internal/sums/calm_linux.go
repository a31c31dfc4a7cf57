package sums

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// The idle class of ioprio_set(2), for one thread.
const (
	ioprioProcess = 1
	ioprioIdle    = 3 << 13
)

// Calm gives the process the lowest priority, for processor and disk: all threads that
// there are, and so those that they start.
func Calm() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		id, _ := strconv.Atoi(t.Name())
		_ = unix.Setpriority(unix.PRIO_PROCESS, id, 19)
		_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioProcess, uintptr(id), ioprioIdle)
	}
}
