package bundle

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Info is what Info.plist tells.
type Info struct {
	BandSize int64 // bytes of a full band
	Size     int64 // bytes of the image
}

const (
	sector   = 512     // a disk image is whole sectors
	block    = 4096    // of host filesystems and direct I/O
	maxBands = 1 << 40 //
	bandType = "com.apple.diskimage.sparsebundle"
	maxInfo  = 1 << 20 // no Info.plist is larger, whoever wrote it
)

// foreignError says that a file is well-formed and describes something else
// than a version 1 sparse bundle: its copy will not say otherwise.
type foreignError struct{ err error }

func (e *foreignError) Error() string { return e.err.Error() }
func (e *foreignError) Unwrap() error { return e.err }

// infoPlist are the keys that count; the pointers tell a missing one.
type infoPlist struct {
	BandSize *int64  `plist:"band-size"`
	Version  *int64  `plist:"bundle-backingstore-version"`
	Type     *string `plist:"diskimage-bundle-type"`
	Size     *int64  `plist:"size"`
}

func readInfoFile(path string) (Info, error) {
	// Not blocking, for the FIFO that somebody put there.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxInfo+1))
	if err != nil {
		return Info{}, err
	}
	return ParseInfo(data)
}

// ParseInfo understands the bytes of an Info.plist, in XML or binary.
func ParseInfo(data []byte) (Info, error) {
	if len(data) > maxInfo {
		return Info{}, errors.New("too large for an Info.plist")
	}
	var p infoPlist
	if err := DecodePlist(data, &p); err != nil {
		return Info{}, err
	}
	return p.info()
}

func (p *infoPlist) info() (Info, error) {
	if err := p.ours(); err != nil {
		return Info{}, err
	}
	switch {
	case p.BandSize == nil:
		return Info{}, errors.New("no band-size")
	case p.Size == nil:
		return Info{}, errors.New("no size")
	}
	i := Info{BandSize: *p.BandSize, Size: *p.Size}
	return i, i.check(sector)
}

// ours tells whether type and version are those that we read.
func (p *infoPlist) ours() error {
	switch {
	case p.Type == nil:
		return errors.New("no diskimage-bundle-type")
	case *p.Type != bandType:
		return &foreignError{fmt.Errorf("diskimage-bundle-type is %q, not %q", *p.Type, bandType)}
	case p.Version == nil:
		return errors.New("no bundle-backingstore-version")
	case *p.Version == 2:
		return &foreignError{ErrVersion2}
	case *p.Version != 1:
		return &foreignError{fmt.Errorf("bundle-backingstore-version is %d: only 1 can be read", *p.Version)}
	}
	return nil
}

// check holds sizes to what can be stored; band sizes are multiples of unit.
func (i Info) check(unit int64) error {
	switch {
	case i.BandSize <= 0 || i.BandSize%unit != 0:
		return fmt.Errorf("band-size %d is not a positive multiple of %d", i.BandSize, unit)
	case i.Size <= 0:
		return fmt.Errorf("size %d is not positive", i.Size)
	case i.Bands() > maxBands:
		return fmt.Errorf("size %d at band-size %d makes %d bands, more than %d", i.Size, i.BandSize, i.Bands(), int64(maxBands))
	}
	return nil
}

// checkNew is check for what we write: the image is whole sectors, because
// devices cut the rest off. New bands are whole blocks, so that direct I/O and
// hole punching work on them.
func (i Info) checkNew(unit int64) error {
	if err := i.check(unit); err != nil {
		return err
	}
	if i.Size%sector != 0 {
		return fmt.Errorf("size %d is not a multiple of %d", i.Size, sector)
	}
	return nil
}

// infoText is Info.plist to the byte. One element a line, the value on the line
// after its key: some readers look for exactly that instead of parsing XML.
const infoText = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>CFBundleInfoDictionaryVersion</key>
	<string>6.0</string>
	<key>band-size</key>
	<integer>%d</integer>
	<key>bundle-backingstore-version</key>
	<integer>1</integer>
	<key>diskimage-bundle-type</key>
	<string>` + bandType + `</string>
	<key>size</key>
	<integer>%d</integer>
</dict>
</plist>
`

// encode gives the bytes of Info.plist.
func (i Info) encode() []byte {
	return fmt.Appendf(nil, infoText, i.BandSize, i.Size)
}
