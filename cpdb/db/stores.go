package db

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	addSteps = defineSteps("store.add")
	setSteps = defineSteps("store.set")
	rmSteps  = defineSteps("store.rm")
)

// storeName says what a name may be: a directory's name on every system, never
// one that hides and never a flag. It is compiled where it is needed: that takes
// a tenth of the time that any other verb has.
const storeName = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`

// ValidName refuses a name that no store may have.
func ValidName(name string) error {
	if regexp.MustCompile(storeName).MatchString(name) {
		return nil
	}
	return status.Errorf(status.Usage, "bad store name %q: want 1 to 64 letters, digits, dots, dashes and underscores, a letter or a digit first", name)
}

// Add makes the row of a new store whose name and status are valid. It fills in the id, the times and, where
// there is none, the bundle's path.
func (d *DB) Add(ctx context.Context, s record.Store) (*record.Store, error) {
	if s.BundlePath == "" {
		s.BundlePath = d.usualBundle(s.Name)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	s.ID, s.CreatedAt, s.NextVersion = hex.EncodeToString(id), now(), max(1, s.NextVersion)
	err := d.update(ctx, addSteps, func() error {
		if err := d.refuseClash(&s); err != nil {
			return err
		}
		base, err := d.origin(s.ForkedFrom)
		if err != nil {
			return err
		}
		if err := d.insertStore(&s, base); err != nil {
			return err
		}
		return d.noteStore(s.ID)
	})
	return &s, err
}

func (d *DB) insertStore(s *record.Store, base int64) error {
	return d.exec(`INSERT INTO stores (id, name, status, bundle_path, mount_path, size_bytes, created_at, mounted_at, next_version, forked_from, base_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Name, s.Status, s.BundlePath, s.MountPath, s.SizeBytes, s.CreatedAt.UnixMicro(), micro(s.MountedAt), s.NextVersion, s.ForkedFrom, base)
}

// origin finds the row of "myapp v3", 0 where there is none.
func (d *DB) origin(forkedFrom string) (id int64, err error) {
	name, version, _ := strings.Cut(forkedFrom, " ")
	n, _ := parseVersion(version)
	err = d.queryRow(`SELECT c.id FROM checkpoints c JOIN stores s ON s.id = c.store_id
		WHERE s.name = ? COLLATE BINARY AND c.version = ? AND c.status = 'ready'`, name, n).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// refuseClash refuses a store that would share a name, a mount point or a
// directory of checkpoints with another one.
func (d *DB) refuseClash(s *record.Store) error {
	others, err := d.stores("")
	if err != nil {
		return err
	}
	for _, o := range others {
		switch {
		case o.ID == s.ID:
		case strings.EqualFold(o.Name, s.Name): // one directory where the filesystem ignores case
			return status.Errorf(status.General, "store %q exists already", o.Name).
				WithHint("agentfs open %s, or choose another name", o.Name)
		case o.MountPath == s.MountPath:
			return status.Errorf(status.General, "mount path %s is taken by store %q", s.MountPath, o.Name).
				WithHint("choose another one with --mount")
		case filepath.Dir(o.BundlePath) == filepath.Dir(s.BundlePath):
			return status.Errorf(status.General, "directory %s holds the bundle and the checkpoints of store %q", filepath.Dir(s.BundlePath), o.Name).
				WithHint("give the bundle a directory of its own with --bundle")
		}
	}
	return nil
}

// Ref names a store: by its id where that is known, else by its name.
type Ref struct{ ID, Name string }

// Store finds a store.
func (d *DB) Store(ctx context.Context, ref Ref) (s *record.Store, err error) {
	err = d.view(ctx, func() error {
		s, err = d.store(ref)
		return err
	})
	return s, err
}

// StoreByMount finds the store whose mount path is path.
func (d *DB) StoreByMount(ctx context.Context, path string) (s *record.Store, err error) {
	err = d.view(ctx, func() error {
		s, err = d.oneStore("WHERE mount_path = ?", path)
		return err
	})
	if err == nil && s == nil {
		err = status.Errorf(status.NoStore, "no store is mounted at %s", path).WithHint("agentfs list")
	}
	return s, err
}

// Stores lists the stores by name, the ready ones or all.
func (d *DB) Stores(ctx context.Context, all bool) (list []*record.Store, err error) {
	where := "WHERE status = 'ready' ORDER BY name"
	if all {
		where = "ORDER BY name"
	}
	err = d.view(ctx, func() error {
		list, err = d.stores(where)
		return err
	})
	return list, err
}

// Change is what Set changes; nil leaves a field as it is.
type Change struct {
	MountPath *string
	Status    *string
	SizeBytes *int64
	Mounted   *bool   // true: mounted now; false: not mounted
	Base      *string // the checkpoint that the present came from, as in "v3"
}

// Set changes a store and gives it as it is then.
func (d *DB) Set(ctx context.Context, ref Ref, c Change) (s *record.Store, err error) {
	err = d.update(ctx, setSteps, func() error {
		if s, err = d.store(ref); err != nil {
			return err
		}
		c.apply(s)
		if err := d.refuseClash(s); err != nil {
			return err
		}
		if err := d.setBase(s, c.Base); err != nil {
			return err
		}
		err := d.exec("UPDATE stores SET mount_path = ?, status = ?, size_bytes = ?, mounted_at = ? WHERE id = ?",
			s.MountPath, s.Status, s.SizeBytes, micro(s.MountedAt), s.ID)
		if err != nil {
			return err
		}
		return d.noteStore(s.ID)
	})
	return s, err
}

func (d *DB) setBase(s *record.Store, version *string) error {
	if version == nil {
		return nil
	}
	c, err := d.readyVersionOf(s, *version)
	if err != nil {
		return err
	}
	s.Base = c.Version
	return d.exec(updateBase, c.ID, s.ID)
}

func (c Change) apply(s *record.Store) {
	if c.MountPath != nil {
		s.MountPath = *c.MountPath
	}
	if c.Status != nil {
		s.Status = *c.Status
	}
	if c.SizeBytes != nil {
		s.SizeBytes = *c.SizeBytes
	}
	if c.Mounted != nil {
		s.MountedAt = nil
		if *c.Mounted {
			s.MountedAt = new(time.Time)
			*s.MountedAt = now()
		}
	}
}

// StoreStates are the values that a store's status may have.
var StoreStates = []string{record.StoreCreating, record.StoreReady, record.StoreRestoring, record.StoreApplying, record.StoreDeleting}

// ValidStatus refuses a status that no tool knows.
func ValidStatus(s string) error {
	if slices.Contains(StoreStates, s) {
		return nil
	}
	return status.Errorf(status.Usage, "bad status %q: want one of %s", s, strings.Join(StoreStates, ", "))
}

// Remove removes a store's row and those of its checkpoints, with the file that tells of
// it, and gives the store as it was.
func (d *DB) Remove(ctx context.Context, ref Ref) (s *record.Store, err error) {
	err = d.update(ctx, rmSteps, func() error {
		if s, err = d.store(ref); err != nil {
			return err
		}
		if err := os.Remove(storeFile(d.home, s.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return d.exec("DELETE FROM stores WHERE id = ?", s.ID) // its checkpoints go with it
	})
	return s, err
}
