//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/serve"
)

// loopDevice is an open loop device that clears itself when nobody uses it.
type loopDevice struct {
	path string
	fd   int
}

// readAhead is what the kernel reads in advance from the device, in 512-byte
// sectors: one largest request.
const readAhead = serve.MaxRequest / 512

// configureLoop sets up a free loop device on the image in one step. Another
// process may be faster: then the next free one.
func configureLoop(image int, direct bool) (*loopDevice, error) {
	ctl, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, cannot(fmt.Sprintf("/dev/loop-control: %v", err), "modprobe loop; in a container, pass the device in")
	}
	defer unix.Close(ctl)
	for range 100 {
		n, err := unix.IoctlRetInt(ctl, unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, cannot(fmt.Sprintf("no free loop device: %v", err), "losetup -a")
		}
		d, err := tryLoop(fmt.Sprintf("/dev/loop%d", n), image, direct)
		if !errors.Is(err, unix.EBUSY) {
			return d, err
		}
	}
	return nil, fmt.Errorf("loop device: each free one was taken by others")
}

func tryLoop(path string, image int, direct bool) (*loopDevice, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, cannot(fmt.Sprintf("%s: %v", path, err), "in a container, pass the loop devices in")
	}
	// Who probes new disks, udev above all, leaves locked ones alone.
	_ = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	cfg := unix.LoopConfig{Fd: uint32(image)}
	cfg.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
	if direct {
		cfg.Info.Flags |= unix.LO_FLAGS_DIRECT_IO
		cfg.Size = serve.DirectBlock
	}
	copy(cfg.Info.File_name[:len(cfg.Info.File_name)-1], "agentfs")
	if err := unix.IoctlLoopConfigure(fd, &cfg); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%s: LOOP_CONFIGURE (Linux 5.8 or newer is needed): %w", path, err)
	}
	_ = unix.IoctlSetInt(fd, unix.BLKRASET, readAhead)
	return &loopDevice{path, fd}, nil
}

func (d *loopDevice) close() { unix.Close(d.fd) }

// probeDiscard tries to leave discard as the one operation that reaches the
// server as a punched hole. Then the content of what is punched never matters,
// and a sealed band need not be copied for it. The other operation is write
// zeroes: once the server has refused it, the kernel writes zeros instead. It is
// tried on the last block, if that is zeros already. Where the kernel goes on
// offering it, a hole must read as zeros, and the server is told so.
func (d *loopDevice) probeDiscard(id string, size int64) {
	if !d.endsInZeros(size) {
		return
	}
	if _, err := ask(id, serve.Request{Op: "discard-only", Discard: true}); err != nil {
		return
	}
	_ = unix.Fallocate(d.fd, unix.FALLOC_FL_ZERO_RANGE|unix.FALLOC_FL_KEEP_SIZE, size-serve.DirectBlock, serve.DirectBlock)
	limit, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(d.path), "queue/write_zeroes_max_bytes"))
	if err == nil && strings.TrimSpace(string(limit)) == "0" {
		return
	}
	_, _ = ask(id, serve.Request{Op: "discard-only", Discard: false})
}

func (d *loopDevice) endsInZeros(size int64) bool {
	var block [serve.DirectBlock]byte
	n, err := unix.Pread(d.fd, block[:], size-serve.DirectBlock)
	return err == nil && n == len(block) && block == [serve.DirectBlock]byte{}
}
