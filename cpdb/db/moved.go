package db

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"agentfs.internal/tool/record"
)

// settle makes the paths of a home that was copied or moved its own again. The rows
// have absolute paths: without this the copy would work on the stores of the home that
// it was made of, and deleting one of its stores would delete that home's.
//
// A store is this home's where its bundle is in the place that every home has for it,
// and not the very directory that its row names.
func (d *DB) settle(ctx context.Context) error {
	if d.frozen {
		return nil // where no row can be changed nothing is deleted
	}
	moved, err := d.moved(ctx)
	if err != nil || len(moved) == 0 {
		return err
	}
	err = d.update(ctx, migrateSteps, func() error {
		for _, s := range moved {
			s.BundlePath = d.usualBundle(s.Name)
			if err := d.exec("UPDATE stores SET bundle_path = ?, mounted_at = NULL WHERE id = ?", s.BundlePath, s.ID); err != nil {
				return err
			}
			if err := d.exec("UPDATE checkpoints SET dir = ? || '/v' || version WHERE store_id = ?", checkpointsDir(s), s.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if code(err) == codeReadOnly {
		return nil
	}
	return err
}

// moved gives the stores whose rows name the place of another home.
func (d *DB) moved(ctx context.Context) (list []*record.Store, err error) {
	err = d.view(ctx, func() error {
		list, err = d.stores("WHERE instr(bundle_path, ?) <> 1", d.home+string(filepath.Separator))
		return err
	})
	var moved []*record.Store
	for _, s := range list {
		usual := d.usualBundle(s.Name)
		same := strings.TrimPrefix(usual, d.home)
		if strings.HasSuffix(s.BundlePath, same) && isDir(usual) && !sameDir(usual, s.BundlePath) {
			moved = append(moved, s)
		}
	}
	return moved, err
}

// usualBundle is where a store's bundle is, unless it was put elsewhere.
func (d *DB) usualBundle(name string) string {
	return filepath.Join(d.home, "stores", name, name+".sparsebundle")
}

func sameDir(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
