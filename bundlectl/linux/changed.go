//go:build linux

package linux

import (
	"bytes"
	"context"
	"errors"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/tool/record"
)

// Changed compares the bands, after a sync of the mounted filesystem. A band that is
// one file with the checkpoint's is sealed and has not changed; of the others it reads
// what is in use.
func (Engine) Changed(_ context.Context, path, dir string) (*record.Image, bool, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, false, err
	}
	a, err := synced("changed", path)
	if err != nil {
		return nil, false, err
	}
	changed, err := differs(b, dir)
	if err != nil {
		return nil, false, wrap("changed", path, err)
	}
	img := &record.Image{BundlePath: path, SizeBytes: b.Info.Size, BandSize: b.Info.BandSize}
	a.fill(img)
	return img, changed, nil
}

// differs tells whether the image of the bundle is another one than that of a
// checkpoint, but for the filesystem's own bookkeeping.
func differs(b *bundle.Bundle, dir string) (bool, error) {
	then, err := listBands(dir)
	if err != nil {
		return false, err
	}
	now, err := listBands(b.BandsDir())
	if err != nil {
		return false, err
	}
	c := &comparison{info: b.Info, now: b.Reader(), then: b.ReaderOf(dir)}
	return c.differ(now.unlike(then, b.Info.Bands()))
}

// comparison is of the bundle's image with a checkpoint's.
type comparison struct {
	info      bundle.Info
	now, then *bundle.Reader
	own       bookkeeping
	p, q      [256 << 10]byte
}

// differ tells whether one of the bands differs.
func (c *comparison) differ(bands []int64) (bool, error) {
	if len(bands) == 0 {
		return false, nil
	}
	if differs, err := c.prepare(); differs || err != nil {
		return differs, err
	}
	for _, i := range bands {
		if differs, err := c.band(i); differs || err != nil {
			return differs, err
		}
	}
	return false, nil
}

// prepare reads what is known of the two filesystems and tells whether that differs
// already. Of a filesystem that is not known every block matters.
func (c *comparison) prepare() (differs bool, err error) {
	now, err := readLayout(c.now)
	if errors.Is(err, errLayout) || err == nil && now.blockSize != block {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	then, err := readLayout(c.then)
	if errors.Is(err, errLayout) || err == nil && then.blocks != now.blocks {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	idle := now.journalEmpty(c.now) && then.journalEmpty(c.then)
	c.own = bookkeeping{layout: now, image: c.now, idle: idle, bitmaps: map[int64][]byte{}}
	return false, nil
}

// band tells whether band i differs, reading stretches of blocks that matter.
func (c *comparison) band(i int64) (differs bool, err error) {
	at := i * c.info.BandSize
	for end := min(at+c.info.BandSize, c.info.Size); at < end; {
		n, err := c.stretch(at, end)
		if err != nil {
			return false, err
		}
		if n == 0 {
			at += block
			continue
		}
		if same, err := c.equal(at, n); !same || err != nil {
			return true, err
		}
		at += n
	}
	return false, nil
}

// stretch gives how many bytes from at on matter, none if its block does not.
func (c *comparison) stretch(at, end int64) (n int64, err error) {
	for own := false; at+n < end && n < int64(len(c.p)); n += block {
		if own, err = c.own.has((at + n) / block); own || err != nil {
			break
		}
	}
	return min(n, end-at), err
}

func (c *comparison) equal(at, n int64) (bool, error) {
	if _, err := c.now.ReadAt(c.p[:n], at); err != nil {
		return false, err
	}
	if _, err := c.then.ReadAt(c.q[:n], at); err != nil {
		return false, err
	}
	return bytes.Equal(c.p[:n], c.q[:n]), nil
}
