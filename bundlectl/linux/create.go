//go:build linux

package linux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	createFormatted = fault.Define("bundlectl.create.formatted") // as one sparse file
	createFilled    = fault.Define("bundlectl.create.filled")    // cut into bands
)

// minSize is the smallest image: ext4 with a journal and some room.
const minSize = 64 << 20

// Create makes a bundle with an empty ext4. mkfs works on a sparse file, whose
// data are then cut into bands: that needs neither root nor a device. The bundle
// appears by one rename.
func (Engine) Create(ctx context.Context, path string, p engine.CreateParams) (*record.Image, error) {
	if err := checkMkfs(); err != nil {
		return nil, err
	}
	if err := checkCreate(path, p); err != nil {
		return nil, wrap("create", path, err)
	}
	if p.BandSize == 0 {
		p.BandSize = chooseBandSize(filepath.Dir(path))
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), ".create-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	if err := create(ctx, temp, path, p); err != nil {
		return nil, wrap("create", path, err)
	}
	return inspect(path)
}

func checkCreate(path string, p engine.CreateParams) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("it exists already")
	}
	if !strings.HasSuffix(path, bundle.Suffix) {
		return status.Errorf(status.Usage, "the name must end in %s", bundle.Suffix)
	}
	if p.Size < minSize {
		return status.Errorf(status.Usage, "size %d is too small", p.Size).WithHint("the smallest is %dM", minSize>>20)
	}
	return nil
}

func create(ctx context.Context, temp, path string, p engine.CreateParams) error {
	info := bundle.Info{BandSize: p.BandSize, Size: p.Size &^ (1<<12 - 1)}
	image, err := os.OpenFile(filepath.Join(temp, "image"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer image.Close()
	if err := image.Truncate(info.Size); err != nil {
		return fmt.Errorf("image of %d bytes: %w", info.Size, err)
	}
	if err := mkfs(ctx, image.Name(), path, p); err != nil {
		return err
	}
	if err := createFormatted.Reach(); err != nil {
		return err
	}
	dir := filepath.Join(temp, filepath.Base(path))
	if err := bundle.Write(dir, info); err != nil {
		return err
	}
	if err := bundle.FromImage(dir, image, info); err != nil {
		return err
	}
	if err := createFilled.Reach(); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// mkfs makes the filesystem: the metadata together at the front, where one band
// holds many groups' worth of it, a small journal, nothing left to initialise
// later, and the checksum seed apart from the UUID, so that a copy can be given
// a UUID of its own in no time.
func mkfs(ctx context.Context, image, path string, p engine.CreateParams) error {
	name := p.VolName
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(path), bundle.Suffix)
	}
	args := []string{"-q", "-F", "-b", "4096", "-m", "0", "-i", "8192", "-I", "256",
		"-J", fmt.Sprintf("size=%d", journalMiB(p.Size)), "-O", "metadata_csum_seed", "-L", name[:min(len(name), 16)]}
	extended := fmt.Sprintf("root_owner=%d:%d,nodiscard,packed_meta_blocks=1,lazy_itable_init=0,lazy_journal_init=0", p.UID, p.GID)
	err := runMkfs(ctx, append(args, "-E", extended+",assume_storage_prezeroed=1", image))
	if err != nil && strings.Contains(err.Error(), "assume_storage_prezeroed") { // before e2fsprogs 1.47
		err = runMkfs(ctx, append(args, "-E", extended, image))
	}
	return err
}

// journalMiB: a larger journal is more for every mount of a checkpoint to replay,
// and more bands that it seals and later commits break; a smaller one makes large
// writes wait. Restore of a fresh checkpoint of 15,000 files, and untar of them with
// sync, ms: 185-208 and 1,270-2,060 at 8 MiB, 193-223 and 1,110-1,400 at 16, 210-257
// and 1,040-1,180 at 32.
func journalMiB(size int64) int64 { return max(4, min(16, size>>20/32)) }

func runMkfs(ctx context.Context, args []string) error {
	prog, err := findMkfs()
	if err != nil {
		return err
	}
	var words bytes.Buffer
	cmd := exec.CommandContext(ctx, prog, args...)
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Run(); err != nil {
		text := strings.Join(strings.Fields(words.String()), " ")
		return fmt.Errorf("mkfs.ext4: %s: %w", strings.TrimPrefix(text, "mkfs.ext4: "), err)
	}
	return nil
}

// The band size is what the first write to a sealed band copies, where the host
// has no reflinks, against one link for each band in a checkpoint. See
// docs/performance.md for the measurements.
const (
	bandSizeCopied   = 1 << 20
	bandSizeReflinks = 4 << 20
)

func chooseBandSize(dir string) int64 {
	if canReflink(dir) {
		return bandSizeReflinks
	}
	return bandSizeCopied
}

// canReflink tries it: no list of filesystems tells.
func canReflink(dir string) bool {
	src, err := os.CreateTemp(dir, ".reflink-*")
	if err != nil {
		return false
	}
	defer os.Remove(src.Name())
	defer src.Close()
	dst, err := os.CreateTemp(dir, ".reflink-*")
	if err != nil {
		return false
	}
	defer os.Remove(dst.Name())
	defer dst.Close()
	if _, err := src.Write(make([]byte, 1<<12)); err != nil {
		return false
	}
	err = unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
	return err == nil || errors.Is(err, unix.EINTR)
}
