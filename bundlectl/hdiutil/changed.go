package hdiutil

import (
	"context"
	"maps"
	"os"
	"path/filepath"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// Changed compares the bands' sizes and the times of their last change, which clones
// keep, after what the volume has in memory is written out. It sees every change; it
// may see one, too, where APFS has written only what it keeps for itself.
func (Engine) Changed(ctx context.Context, path, dir string) (*record.Image, bool, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, false, err
	}
	d, err := synced(ctx, path)
	if err != nil {
		return nil, false, wrap(status.Mount, "changed", path, err)
	}
	img, err := image(b, d)
	if err != nil {
		return nil, false, err
	}
	same, err := sameBands(b, dir)
	if err != nil {
		return nil, false, wrap(status.General, "changed", path, err)
	}
	return img, !same, nil
}

func sameBands(b *bundle.Bundle, dir string) (bool, error) {
	then, err := states(dir)
	if err != nil {
		return false, err
	}
	now, err := states(b.BandsDir())
	return maps.Equal(now, then), err
}

// state is what tells one content of a band from another.
type state struct{ size, changed int64 }

func states(dir string) (map[int64]state, error) {
	list, err := bundle.BandsIn(dir)
	if err != nil {
		return nil, err
	}
	all := make(map[int64]state, len(list))
	for _, i := range list {
		st, err := os.Lstat(filepath.Join(dir, bundle.BandName(i)))
		if err != nil {
			return nil, err
		}
		all[i] = state{st.Size(), st.ModTime().UnixNano()}
	}
	return all, nil
}
