package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// BandName is the file name of band i.
func BandName(i int64) string { return strconv.FormatInt(i, 16) }

// ParseBandName gives the number of the band with this name. It is strict: a
// name that BandName does not make is not a band's, and readers ignore the file.
func ParseBandName(s string) (int64, bool) {
	i, err := strconv.ParseUint(s, 16, 63)
	if err != nil || BandName(int64(i)) != s {
		return 0, false
	}
	return int64(i), true
}

// BandPath is the path of band i, existing or not.
func (b *Bundle) BandPath(i int64) string {
	return filepath.Join(b.Path, bandsName, BandName(i))
}

// BandsDir is the directory of the bands.
func (b *Bundle) BandsDir() string { return b.join(bandsName) }

// Bands gives the numbers of the bands that exist, in order. Other files, such
// as those of a copy in the making, are not bands.
func (b *Bundle) Bands() ([]int64, error) { return BandsIn(b.BandsDir()) }

// BandsIn gives the same of any directory of bands.
func BandsIn(dir string) ([]int64, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(-1)
	if err := cmp.Or(err, d.Close()); err != nil {
		return nil, err
	}
	list := make([]int64, 0, len(entries))
	for _, e := range entries {
		if i, ok := ParseBandName(e.Name()); ok && e.Type().IsRegular() {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list, nil
}

// Usage counts the bands and the bytes that the host has allocated for them. A
// band that goes away meanwhile counts nothing: the bundle may be in use.
func (b *Bundle) Usage() (bands, bytes int64, err error) {
	list, err := b.Bands()
	if err != nil {
		return 0, 0, err
	}
	for _, i := range list {
		n, err := allocated(b.BandPath(i))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		bands, bytes = bands+1, bytes+n
	}
	return bands, bytes, nil
}

func allocated(path string) (int64, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("stat %q: no block count", path)
	}
	return sys.Blocks * 512, nil // st_blocks counts 512 bytes on every system
}
