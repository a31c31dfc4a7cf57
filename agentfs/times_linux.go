package main

import (
	"os"
	"syscall"
	"time"
)

// changeTime is when a file was last changed, its metadata included, or renamed.
func changeTime(path string) (time.Time, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return time.Time{}, err
	}
	sys := st.Sys().(*syscall.Stat_t)
	return time.Unix(int64(sys.Ctim.Sec), int64(sys.Ctim.Nsec)), nil
}
