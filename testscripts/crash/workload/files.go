//go:build linux

package workload

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// fill gives n bytes that begin with head: random ones, and some runs of zeros.
func fill(random *rand.Rand, head string, n int) []byte {
	data := make([]byte, max(n, len(head)))
	for at := copy(data, head); at < len(data); {
		run := 1 + random.IntN(20<<10)
		for end := min(len(data), at+run); at < end; at++ {
			data[at] = byte(random.Uint32())
		}
		at += random.IntN(3) * 2048
	}
	return data
}

// replace puts a file in place: whoever looks after a crash finds the old or the new.
func replace(path string, data []byte) error {
	temp := path + ".new"
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	return errors.Join(err, syncDir(filepath.Dir(path)))
}

func remove(path string) error {
	return errors.Join(os.Remove(path), syncDir(filepath.Dir(path)))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
