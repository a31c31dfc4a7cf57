package main

import (
	"context"
	"flag"
	"path/filepath"

	"agentfs.internal/cpdb/db"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

type storeAddVerb struct {
	*app
	store record.Store
}

func storeAdd(a *app) *command.Verb {
	v := &storeAddVerb{app: a}
	return &command.Verb{
		Name:  "add",
		Args:  "NAME",
		Short: "make the row of a new store",
		Long: `Makes the database, too, where there is none. A name is 1 to 64 letters,
digits, dots, dashes and underscores, a letter or a digit first. No two stores
share a mount path or the directory of their bundle. The base of a fork is the
checkpoint that it began as.

in:  nothing
out: store`,
		Min:   1,
		Max:   1,
		Flags: v.flags,
		Run:   v.run,
	}
}

func (v *storeAddVerb) flags(fs *flag.FlagSet) {
	fs.StringVar(&v.store.BundlePath, "bundle", "", "`path` of the bundle (default HOME/stores/NAME/NAME.sparsebundle)")
	fs.StringVar(&v.store.MountPath, "mount", "", "`path` to mount it at (default NAME in the current directory)")
	fs.Func("size", "`bytes` of the image, as in 50G", sizeInto(&v.store.SizeBytes))
	fs.StringVar(&v.store.ForkedFrom, "forked-from", "", "the `checkpoint` that it begins as, as in \"myapp v3\"")
	fs.Int64Var(&v.store.NextVersion, "next-version", 1, "the `number` that the first checkpoint gets: of a store that comes from elsewhere")
	fs.StringVar(&v.store.Status, "status", record.StoreReady, "`state` of the row: creating while the bundle is not there yet")
}

// sizeInto gives the setter of a flag for a size.
func sizeInto(p *int64) func(string) error {
	return func(s string) (err error) {
		*p, err = size.Parse(s)
		return err
	}
}

func (v *storeAddVerb) run(ctx context.Context, stdio command.IO, args []string) error {
	if err := v.complete(args[0]); err != nil {
		return err
	}
	home, err := v.dir()
	if err != nil {
		return err
	}
	d, err := db.OpenOrCreate(ctx, home)
	if err != nil {
		return err
	}
	defer d.Close()
	s, err := d.Add(ctx, v.store)
	if err != nil {
		return err
	}
	return write(stdio.Out, record.New(), "store", s)
}

// complete fills in the defaults and makes the paths absolute. It refuses what
// is wrong before a database is made for it.
func (v *storeAddVerb) complete(name string) (err error) {
	s := &v.store
	s.Name = name
	if err := db.ValidName(name); err != nil {
		return err
	}
	if err := db.ValidStatus(s.Status); err != nil {
		return err
	}
	if s.MountPath == "" {
		s.MountPath = name
	}
	if s.MountPath, err = absolute(s.MountPath); err != nil || s.BundlePath == "" {
		return err
	}
	s.BundlePath, err = absolute(s.BundlePath)
	return err
}

func absolute(path string) (string, error) {
	if path == "" {
		return "", status.Errorf(status.Usage, "empty path")
	}
	return filepath.Abs(path)
}
