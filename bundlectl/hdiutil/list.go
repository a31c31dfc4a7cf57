package hdiutil

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/tool/record"
)

// List gives the sparse bundles that are attached, by whomever.
func (Engine) List(ctx context.Context) ([]record.Image, error) {
	attached, err := disks(ctx)
	if err != nil {
		return nil, err
	}
	list := []record.Image{}
	for _, d := range attached {
		// Other kinds of images, those of other machines' backups among them, are
		// not ours to show.
		b, err := bundle.Open(public(d.Path))
		if err != nil {
			continue
		}
		img, err := image(b, &d)
		if err != nil {
			return nil, err
		}
		img.MountPath = public(img.MountPath)
		list = append(list, *img)
	}
	return list, nil
}

func disks(ctx context.Context) ([]disk, error) {
	out, err := retry(ctx, "info", "-plist")
	if err != nil {
		return nil, err
	}
	return parseInfo(out)
}

// find gives the disk that a bundle is attached as, or nil. A mountpoint names
// its bundle too.
func find(ctx context.Context, path string) (*disk, error) {
	attached, err := disks(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range attached {
		v, err := d.volume()
		if samePath(d.Path, path) || err == nil && samePath(v.Mount, path) {
			return &d, nil
		}
	}
	return nil, nil
}

// image makes the record of a bundle; d is nil where it is not attached.
func image(b *bundle.Bundle, d *disk) (*record.Image, error) {
	bands, bytes, err := b.Usage()
	if err != nil {
		return nil, err
	}
	img := &record.Image{
		BundlePath: b.Path, SizeBytes: b.Info.Size, BandSize: b.Info.BandSize,
		Bands: bands, Bytes: bytes,
	}
	if d == nil {
		return img, nil
	}
	img.Attached, img.Device = true, d.node()
	if v, err := d.volume(); err == nil {
		img.MountPath = v.Mount
	}
	return img, nil
}

// describe opens the bundle and makes its record.
func describe(path string, d *disk) (*record.Image, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	return image(b, d)
}

// samePath tells whether two names are one file. hdiutil gives some paths back
// with /private in front, and names in another Unicode form.
func samePath(a, b string) bool {
	if public(a) == public(b) {
		return true
	}
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}

// public gives the spelling that people use: macOS resolves /tmp and /var to
// what is in /private.
func public(path string) string {
	if path == "" {
		return ""
	}
	path = filepath.Clean(path)
	if rest, ok := strings.CutPrefix(path, "/private/"); ok {
		return "/" + rest
	}
	return path
}
