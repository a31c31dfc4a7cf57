package sums

import "golang.org/x/sys/unix"

// Calm gives the process the lowest priority.
func Calm() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19) }
