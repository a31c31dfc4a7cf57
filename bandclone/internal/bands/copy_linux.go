package bands

import (
	"errors"

	"agentfs.internal/bandclone/internal/dir"

	"golang.org/x/sys/unix"
)

// copyRange lets the kernel copy, and copies through memory what it does not.
func copyRange(dst, src int, off, length int64) error {
	from, to := off, off
	for length > 0 {
		n, err := unix.CopyFileRange(src, &from, dst, &to, int(min(length, 1<<30)), 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case dir.Cannot(err), err == nil && n == 0:
			return copyByHand(dst, src, from, length)
		case err != nil:
			return err
		}
		length -= int64(max(n, 0))
	}
	return nil
}
