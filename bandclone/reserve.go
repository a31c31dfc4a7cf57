package main

import (
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

// maxReserve is the largest reserve in bytes; on a small filesystem it is a
// sixty-fourth.
const maxReserve = 256 << 20

// enough refuses when the filesystem has less than the reserve left.
func enough(d *dir.Dir) error {
	free, total, err := d.Space()
	if err != nil {
		return err
	}
	if reserve := min(maxReserve, total/64); free < reserve {
		return status.Errorf(status.General, "%s: only %s free, the reserve is %s", d.Path(""), size.Format(free), size.Format(reserve)).
			WithHint("agentfs checkpoint delete vN, or make room on the disk")
	}
	return nil
}
