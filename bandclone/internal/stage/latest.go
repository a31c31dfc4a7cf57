package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"agentfs.internal/bandclone/internal/dir"
)

// Latest is the symbolic link beside the checkpoints that names the newest.
const Latest = "latest"

// Version reads the name of a checkpoint's directory: v1, v2, v10.
func Version(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, "v")
	if !ok || digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	return n, err == nil
}

// Versions gives the numbers of the checkpoints in a directory, in no order.
func Versions(checkpoints *dir.Dir) ([]uint64, error) {
	var list []uint64
	var asked error
	err := checkpoints.Each(func(name []byte, _ uint64, kind dir.Kind) {
		n, ok := Version(string(name))
		if ok && kind == dir.Unknown {
			info, err := checkpoints.Stat(string(name))
			ok = err == nil && info.IsDir()
			asked = errors.Join(asked, err)
		} else if kind != dir.Directory {
			ok = false
		}
		if ok {
			list = append(list, n)
		}
	})
	return list, errors.Join(err, asked)
}

// Repoint makes Latest name the checkpoint with the highest number. It looks
// and renames under the directory's lock, so that of many makers at once
// none points it back.
func Repoint(checkpoints *dir.Dir) error {
	if err := checkpoints.Lock(); err != nil {
		return err
	}
	defer checkpoints.Unlock()
	versions, err := Versions(checkpoints)
	if err != nil {
		return err
	}
	var highest uint64
	for _, v := range versions {
		highest = max(highest, v)
	}
	if highest == 0 {
		return ignoreMissing(checkpoints.Unlink(Latest))
	}
	return point(checkpoints, fmt.Sprintf("v%d", highest))
}

func point(checkpoints *dir.Dir, target string) error {
	const temporary = "." + Latest + ".tmp" // one name will do: we hold the lock
	if now, err := checkpoints.Readlink(Latest); err == nil && now == target {
		return nil
	}
	if err := ignoreMissing(checkpoints.Unlink(temporary)); err != nil {
		return err
	}
	if err := checkpoints.Symlink(target, temporary); err != nil {
		return err
	}
	err := latestMade.Reach()
	if err == nil {
		err = checkpoints.Rename(temporary, Latest)
	}
	if err != nil {
		_ = checkpoints.Unlink(temporary)
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
