package hdiutil

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

const (
	sector   = 512     // hdiutil counts a band in them
	mebibyte = 1 << 20 // and we the image in these: bytes cannot be said to it
)

// Create makes the bundle in a directory beside its place and renames it there
// when it is complete.
func (Engine) Create(ctx context.Context, path string, p engine.CreateParams) (*record.Image, error) {
	err := creatable(path, &p)
	if err == nil {
		err = create(ctx, path, p)
	}
	if err != nil {
		return nil, wrap(status.General, "create", path, err)
	}
	return describe(path, nil)
}

// creatable checks the parameters and fills those that were left out.
func creatable(path string, p *engine.CreateParams) error {
	name, ok := strings.CutSuffix(filepath.Base(path), bundle.Suffix)
	if p.BandSize == 0 {
		p.BandSize = BandSize
	}
	if p.VolName == "" {
		p.VolName = name
	}
	switch _, err := os.Lstat(path); {
	case !ok || name == "":
		return fmt.Errorf("the name does not end in %s", bundle.Suffix)
	case err == nil:
		return fs.ErrExist
	case p.Size <= 0:
		return fmt.Errorf("size %d is not positive", p.Size)
	case p.BandSize < 0 || p.BandSize%4096 != 0:
		return fmt.Errorf("band-size %d is not a positive multiple of 4096", p.BandSize)
	}
	return nil
}

func create(ctx context.Context, path string, p engine.CreateParams) (err error) {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".create-")
	if err != nil {
		return err
	}
	defer func() { err = cleared(err, os.RemoveAll(dir)) }()
	made := filepath.Join(dir, filepath.Base(path))
	if _, err := retry(ctx, createArgs(made, p)...); err != nil {
		return err
	}
	// A version of macOS that writes another format shall say so now, not at the
	// first checkpoint.
	if _, err := bundle.Open(made); err != nil {
		return fmt.Errorf("%s has made something else: %w", program, err)
	}
	if err := os.Chmod(made, 0o700); err != nil {
		return err
	}
	return os.Rename(made, path)
}

// cleared is the outcome of a create after its directory was removed.
func cleared(err, cleanup error) error {
	if err == nil {
		return cleanup
	}
	return also(err, cleanup)
}

func createArgs(path string, p engine.CreateParams) []string {
	args := []string{
		"create", "-plist", "-size", megabytes(p.Size), "-type", "SPARSEBUNDLE",
		"-fs", "APFS", "-volname", p.VolName,
		"-imagekey", "sparse-band-size=" + strconv.FormatInt(p.BandSize/sector, 10),
	}
	// It takes the caller for the owner; said explicitly it may want root.
	if p.UID != os.Getuid() || p.GID != os.Getgid() {
		args = append(args, "-uid", strconv.Itoa(p.UID), "-gid", strconv.Itoa(p.GID))
	}
	return append(args, path)
}

// megabytes is a size as hdiutil takes it, rounded up.
func megabytes(n int64) string {
	return strconv.FormatInt((n-1)/mebibyte+1, 10) + "m"
}
