package sums

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"agentfs.internal/bandclone/internal/dir"
)

// piece is how much is read at once.
const piece = 1 << 20

// buffers are aligned, as a read past the page cache must be: Go gives what is so large
// whole pages.
var buffers = sync.Pool{New: func() any { return new([piece]byte) }}

// ErrNoFile says that what has a band's name is not a regular file.
var ErrNoFile = errors.New("not a regular file")

// Of gives the sum of a file as it is on the disk, and its length: what the host still
// has of it in memory does not count.
func Of(ctx context.Context, d *dir.Dir, name string) (Sum, int64, error) {
	h := sha256.New()
	n, err := Each(ctx, d, name, func(p []byte) { _, _ = h.Write(p) })
	var s Sum
	h.Sum(s[:0])
	return s, n, err
}

// Each reads a file from the disk, piece by piece, and gives its length.
func Each(ctx context.Context, d *dir.Dir, name string, take func(p []byte)) (int64, error) {
	info, err := d.Stat(name)
	if err != nil {
		return 0, err
	}
	if !info.IsRegular() {
		return 0, fmt.Errorf("%s: %w", d.Path(name), ErrNoFile)
	}
	f, err := openDisk(d, name)
	if err != nil {
		return 0, err
	}
	defer func() { f.Close() }()
	whole := buffers.Get().(*[piece]byte)
	defer buffers.Put(whole)
	buf := whole[:]
	for at := int64(0); ; {
		if ctx.Err() != nil {
			return at, context.Cause(ctx)
		}
		n, err := readFull(f, buf, at)
		if errors.Is(err, unix.EINVAL) && at == 0 { // not past the page cache here
			f.Close()
			if f, err = openCached(d, name); err == nil {
				n, err = readFull(f, buf, at)
			}
		}
		take(buf[:n])
		at += int64(n)
		if err != nil || n < len(buf) {
			return at, err
		}
	}
}

// readFull reads to the end of p or of the file.
func readFull(f *os.File, p []byte, at int64) (int, error) {
	n, err := f.ReadAt(p, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Parallel calls do for 0 to n-1, by as many workers at once as there are processors
// or, with calm, by one. It ends with the first error.
func Parallel(ctx context.Context, n int, calm bool, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	jobs := make(chan int)
	var all sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	if calm {
		workers = 1
	}
	for range min(workers, n) {
		all.Go(func() {
			for i := range jobs {
				if err := do(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case jobs <- i:
		case <-ctx.Done():
		}
	}
	close(jobs)
	all.Wait()
	return context.Cause(ctx)
}
