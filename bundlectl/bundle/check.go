package bundle

import (
	"errors"
	"fmt"
	"os"
)

// Check looks for damage of the bundle's own files, Info.plist and its copy, and of the
// form of its bands. It gives one error for each. With repair the one of the two that can
// be read takes the place of the other; nothing else changes.
func (b *Bundle) Check(repair bool) (repaired, left []error) {
	if err := b.checkInfo(); err != nil {
		if repair && b.SetSize(b.Info.Size) == nil {
			repaired = append(repaired, err)
		} else {
			left = append(left, err)
		}
	}
	bands, err := os.ReadDir(b.BandsDir())
	if err != nil {
		return repaired, append(left, err)
	}
	for _, e := range bands {
		if err := b.checkBand(e); err != nil {
			left = append(left, err)
		}
	}
	return repaired, left
}

// checkInfo tells whether Info.plist and its copy tell the same.
func (b *Bundle) checkInfo() error {
	if b.FromBackup {
		return fmt.Errorf("%s is lost or damaged, %s is not", infoName, backupName)
	}
	info, err := readInfoFile(b.join(backupName))
	if err != nil {
		return fmt.Errorf("%s: %w", backupName, plain(err))
	}
	if info != b.Info {
		return fmt.Errorf("%s and %s tell different sizes", infoName, backupName)
	}
	return nil
}

func (b *Bundle) checkBand(e os.DirEntry) error {
	i, ok := ParseBandName(e.Name())
	if !ok {
		return nil // no part of the image
	}
	info, err := e.Info()
	switch {
	case errors.Is(err, os.ErrNotExist): // discarded meanwhile
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("band %s is no file", e.Name())
	case info.Size() > b.Info.BandSize:
		return fmt.Errorf("band %s has %d bytes, more than a band has", e.Name(), info.Size())
	case i >= b.Info.Bands():
		return fmt.Errorf("band %s is behind the image's end", e.Name())
	}
	return nil
}
