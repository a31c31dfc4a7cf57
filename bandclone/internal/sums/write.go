package sums

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
)

var (
	sumBegun   = fault.Define("bandclone.sum.begun")   // the file of sums has been begun
	sumHashed  = fault.Define("bandclone.sum.hashed")  // some sums are in it
	sumWritten = fault.Define("bandclone.sum.written") // all are, not under its name
	sumRenamed = fault.Define("bandclone.sum.renamed") // under its name, perhaps not durable
)

// growing is the name of the file of sums until it is complete. What is in it by then
// is a beginning of it, so that whoever was interrupted goes on.
const growing = "." + record.SumsFile

// Job is a checkpoint whose bands are to be summed.
type Job struct {
	Dir    *dir.Dir
	Set    *bands.Set
	Known  List              // sums that need not be made again
	Calm   bool              // one band at a time
	Hashed func(bytes int64) // told of each band that was read; may be nil
}

// Write makes the file of sums, and gives how many bands it has read. Who else is at
// the same one is waited for; where it is there already nothing is done.
func (j Job) Write(ctx context.Context) (hashed int, err error) {
	f, err := j.begin()
	if err != nil || f == nil {
		return 0, err
	}
	defer f.Close()
	done, err := j.resume(f)
	if err != nil {
		return 0, err
	}
	if err := sumBegun.Reach(); err != nil {
		return 0, err
	}
	list := List{}
	for num, sum := range done {
		list[num] = sum
	}
	if hashed, err = j.fill(ctx, f, list); err != nil {
		return hashed, err
	}
	return hashed, j.publish(f, list)
}

// begin opens the growing file and locks it. It is nil where there is a complete one.
func (j Job) begin() (*os.File, error) {
	for {
		f, err := j.Dir.OpenFile(growing, unix.O_RDWR|unix.O_CREAT, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lock(f); err != nil {
			f.Close()
			return nil, err
		}
		there, err := j.Dir.Exists(record.SumsFile)
		if err == nil && !there && j.isStill(f) {
			return f, nil
		}
		if there && j.isStill(f) {
			err = j.Dir.Unlink(growing)
		}
		f.Close()
		if there || err != nil {
			return nil, err
		}
	}
}

func lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// isStill tells whether the file still has the growing one's name.
func (j Job) isStill(f *os.File) bool {
	var st unix.Stat_t
	info, err := j.Dir.Stat(growing)
	return err == nil && unix.Fstat(int(f.Fd()), &st) == nil && info.Ino == st.Ino && info.Dev == uint64(st.Dev)
}

// resume reads what an interrupted one has written, and cuts off what is not the
// beginning of a file of sums for these bands.
func (j Job) resume(f *os.File) (List, error) {
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	done, length := List{}, int64(0)
	for line := range bytes.Lines(text) {
		num, sum, ok := parseLine(line)
		if !ok || len(done) == len(j.Set.Bands) || j.Set.Bands[len(done)].Num != num {
			break
		}
		done[num] = sum
		length += int64(len(line))
	}
	if err := f.Truncate(length); err != nil {
		return nil, err
	}
	_, err = f.Seek(length, io.SeekStart)
	return done, err
}

// batch is how many bands are summed between two writes.
const batch = 16

// fill writes the lines of the bands that are not in the list yet.
func (j Job) fill(ctx context.Context, f *os.File, list List) (hashed int, err error) {
	for rest := j.Set.Bands[len(list):]; len(rest) > 0; {
		now := rest[:min(batch, len(rest))]
		n, err := j.sum(ctx, now, list)
		hashed += n
		if err != nil {
			return hashed, err
		}
		var text bytes.Buffer
		for _, b := range now {
			text.WriteString(line(b.Num, list[b.Num]))
		}
		if _, err := f.Write(text.Bytes()); err != nil {
			return hashed, err
		}
		if err := sumHashed.Reach(); err != nil {
			return hashed, err
		}
		rest = rest[len(now):]
	}
	return hashed, nil
}

// sum puts the sums of some bands into the list.
func (j Job) sum(ctx context.Context, some []bands.Band, list List) (int, error) {
	var unknown []uint64
	for _, b := range some {
		if sum, ok := j.Known[b.Num]; ok {
			list[b.Num] = sum
		} else {
			unknown = append(unknown, b.Num)
		}
	}
	made := make([]Sum, len(unknown))
	err := Parallel(ctx, len(unknown), j.Calm, func(ctx context.Context, i int) error {
		sum, size, err := Of(ctx, j.Dir, bands.Name(unknown[i]))
		made[i] = sum
		if err == nil && j.Hashed != nil {
			j.Hashed(size)
		}
		return err
	})
	for i, num := range unknown {
		list[num] = made[i]
	}
	return len(unknown), err
}

// publish completes the file and gives it its name.
func (j Job) publish(f *os.File, list List) error {
	if _, err := f.WriteString(list.seal()); err != nil {
		return err
	}
	if err := unix.Fchmod(int(f.Fd()), bands.SealedMode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := sumWritten.Reach(); err != nil {
		return err
	}
	if err := j.Dir.Rename(growing, record.SumsFile); err != nil {
		return err
	}
	if err := sumRenamed.Reach(); err != nil {
		return err
	}
	return j.Dir.Sync()
}
