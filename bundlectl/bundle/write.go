package bundle

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agentfs.internal/tool/fault"
)

var sizeBackedUp = fault.Define("bundlectl.resize.backup-written") // Info.plist has the old size

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Write makes a new bundle without bands, an image of zeros, and syncs it. dir
// must not exist and must end in Suffix. On error nothing is left.
func Write(dir string, info Info) error {
	err := info.checkNew(block)
	if err == nil && !strings.HasSuffix(dir, Suffix) {
		err = fmt.Errorf("the name does not end in %s", Suffix)
	}
	if err == nil {
		err = write(dir, info)
	}
	return wrapBundle("create", dir, err)
}

func write(dir string, info Info) error {
	if err := os.Mkdir(dir, dirMode); err != nil {
		return plain(err)
	}
	if err := fill(dir, info); err != nil {
		return cmp.Or(err, os.RemoveAll(dir))
	}
	return nil
}

func fill(dir string, info Info) error {
	if err := os.Mkdir(filepath.Join(dir, bandsName), dirMode); err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		infoName: info.encode(), backupName: info.encode(), tokenName: nil,
	} {
		if err := writeFile(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	for _, d := range []string{filepath.Join(dir, bandsName), dir, filepath.Dir(dir)} {
		if err := syncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// SetSize grows the image to n bytes. The copy is written first: whenever this
// is cut short, one of the two files is whole.
func (b *Bundle) SetSize(n int64) error {
	info := Info{BandSize: b.Info.BandSize, Size: n}
	err := info.checkSize(b.Info.Size)
	if err == nil {
		err = replaceFile(b.join(backupName), info.encode())
	}
	if err == nil {
		err = sizeBackedUp.Reach()
	}
	if err == nil {
		err = replaceFile(b.join(infoName), info.encode())
	}
	if err != nil {
		return wrapBundle("resize", b.Path, err)
	}
	b.Info, b.FromBackup = info, false
	return nil
}

// checkSize tells whether an image of old bytes can become i.
func (i Info) checkSize(old int64) error {
	if i.Size < old {
		return fmt.Errorf("%d bytes is less than it has, %d: it can only grow", i.Size, old)
	}
	return i.checkNew(sector) // the bands are whoever's made them
}

// replaceFile puts data in the place of a file in one step.
func replaceFile(path string, data []byte) error {
	aside := path + ".new"
	if err := os.Remove(aside); err != nil && !os.IsNotExist(err) { // of a crash
		return err
	}
	if err := writeFile(aside, data); err != nil {
		return cmp.Or(err, os.Remove(aside))
	}
	if err := os.Rename(aside, path); err != nil {
		return cmp.Or(err, os.Remove(aside))
	}
	return syncDir(filepath.Dir(path))
}

// writeFile makes a new file and syncs it.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return cmp.Or(err, f.Sync(), f.Close())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return cmp.Or(d.Sync(), d.Close())
}

func wrapBundle(verb, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s bundle %q: %w", verb, path, err)
}
