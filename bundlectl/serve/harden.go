//go:build linux

package serve

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bands"
)

// Memory: the server may not wait for memory while the kernel waits for it to
// write dirty pages back (see docs/architecture.md, the deadlock). So it takes
// what it needs at the start, locks it and stays within it.
const (
	inflight    = 16 << 20 // bytes of requests at work at the same time
	memoryLimit = 44 << 20 // of the Go heap: collected only when it comes near
	warm        = 20 << 20 // bytes of heap touched before the first request
	threads     = 8        // of which some wait in read, some in write: more than there are cores
)

// FlusherEnv is set in the environment of a server that has asked to be an I/O
// flusher and has started itself again.
const FlusherEnv = "BUNDLECTL_IO_FLUSHER"

// Flusher makes the process an I/O flusher (Linux 5.6; needs CAP_SYS_RESOURCE):
// its allocations then never wait for write-back. The mark is per thread and is
// kept over exec, so it is set first and the program started again, for every
// thread of the runtime to have it. It returns if it may not, or has it.
func Flusher() {
	if os.Getenv(FlusherEnv) != "" {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Prctl(unix.PR_SET_IO_FLUSHER, 1, 0, 0, 0) != nil {
		return
	}
	_ = unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), FlusherEnv+"=1"))
}

// harden does what can be done against the memory killer and against waiting
// for memory. Each may be refused; the others still help.
func harden() {
	runtime.GOMAXPROCS(max(threads, runtime.NumCPU()))
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	touch()
	_ = unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
	if os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0) != nil {
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0)
	}
	raiseOpenFiles()
	leaveControlGroup()
}

func raiseOpenFiles() {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) == nil {
		lim.Cur = lim.Max
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &lim)
	}
}

// touch makes the heap as large as it will have to be. With the collector's
// percentage off, the runtime keeps freed memory until the limit comes near.
func touch() {
	for range warm / MaxRequest {
		b := make([]byte, MaxRequest)
		for i := 0; i < len(b); i += bands.Align {
			b[i] = 1
		}
	}
	runtime.GC()
}

// leaveControlGroup goes to the root of the hierarchies that can hold a process
// back: a writer that waits at its group's memory limit must not make its server
// wait too, and a frozen agent must not freeze it. The root has no limits, and
// nothing of ours is left behind there. Where it cannot be written, as in most
// containers, the server stays: direct I/O and locked memory must do.
func leaveControlGroup() {
	pid := []byte(strconv.Itoa(os.Getpid()))
	for _, hierarchy := range []string{"memory", "freezer", "unified", ""} {
		_ = os.WriteFile(filepath.Join("/sys/fs/cgroup", hierarchy, "cgroup.procs"), pid, 0)
	}
}
