// Package bundle reads and writes the sparse bundle: a disk image as a directory
// of bands, in Apple's format, version 1.
//
//	myapp.sparsebundle/
//	  Info.plist    band size and image size, in XML
//	  Info.bckup    a byte copy of Info.plist, for when that is lost
//	  token         empty
//	  bands/0 1 … a b … 10 …
//
// Band i holds the image's bytes from i × band size on; its name is i in
// unpadded lowercase hexadecimal. A missing band is zeros, a short one ends in
// zeros. docs/format.md is the reference.
package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"agentfs.internal/tool/status"
)

// Suffix is what the name of every new bundle ends in; some readers insist.
const Suffix = ".sparsebundle"

// The names in a bundle.
const (
	infoName   = "Info.plist"
	backupName = "Info.bckup"
	tokenName  = "token"
	bandsName  = "bands"
	mappedName = "mapped" // only in version 2
)

// ErrVersion2 is in the error for a bundle that newer macOS wrote in another
// format under the same suffix.
var ErrVersion2 = errors.New("version 2 bundle, written by newer macOS: only version 1 can be read")

// Bundle is an open bundle: its place and what its Info.plist says.
type Bundle struct {
	Path string // of the bundle directory, as given to Open
	Info Info
	// FromBackup says that Info.plist was lost and Info.bckup read instead;
	// SetSize repairs it.
	FromBackup bool
}

// Open reads the bundle's Info.plist, or its copy where that is missing or
// corrupt. It does not look at the bands.
func Open(path string) (*Bundle, error) {
	b := &Bundle{Path: path}
	if err := b.open(); err != nil {
		return nil, fmt.Errorf("open bundle %q: %w", path, err)
	}
	return b, nil
}

func (b *Bundle) open() error {
	if err := isDir(b.Path); err != nil {
		return err
	}
	if isDir(b.join(mappedName)) == nil {
		return fmt.Errorf("it has a %s directory: %w", mappedName, ErrVersion2)
	}
	if err := b.readInfo(); err != nil {
		return err
	}
	// Without it every byte would read as zero, which is worse than an error.
	if err := isDir(b.join(bandsName)); err != nil {
		return fmt.Errorf("%s: %w", bandsName, err)
	}
	return nil
}

// readInfo takes Info.plist or, where that cannot be understood, Info.bckup. A
// file that is clear about being of another kind is final.
func (b *Bundle) readInfo() error {
	info, err := readInfoFile(b.join(infoName))
	var foreign *foreignError
	if err == nil || errors.As(err, &foreign) {
		b.Info = info
		return wrapName(infoName, err)
	}
	info, err2 := readInfoFile(b.join(backupName))
	if err2 != nil {
		return lost(err, err2)
	}
	b.Info, b.FromBackup = info, true
	return nil
}

// lost tells why neither file could be read. Both missing is the most common
// case: some directory that is no bundle.
func lost(err, err2 error) error {
	if errors.Is(err, fs.ErrNotExist) && errors.Is(err2, fs.ErrNotExist) {
		return fmt.Errorf("no %s and no %s in it: not a sparse bundle", infoName, backupName)
	}
	return status.Errorf(status.General, "%s: %w; %s: %w", infoName, plain(err), backupName, plain(err2)).
		WithHint("write an %s with the band size and the image size, see docs/format.md", infoName)
}

// Bands gives the number of bands that the image's size makes, existing or not.
func (i Info) Bands() int64 {
	return (i.Size-1)/i.BandSize + 1
}

func (b *Bundle) join(name string) string { return filepath.Join(b.Path, name) }

func wrapName(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// plain takes operation and path off an error of package os where the message
// around it names the file already.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func isDir(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return plain(err)
	}
	if !st.IsDir() {
		return syscall.ENOTDIR
	}
	return nil
}
