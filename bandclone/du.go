package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/bandclone/internal/stage"
	"agentfs.internal/bandclone/internal/usage"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
)

type duOptions struct {
	bundle string
	freed  []string
}

func duVerb() *command.Verb {
	o := &duOptions{}
	return &command.Verb{
		Name:  "du",
		Short: "tell what each checkpoint and the live bands take on the disk",
		Long: `
One line each: the checkpoints by number, then the live bands, named "live".
logical_bytes is what it takes seen alone, exclusive_bytes what deleting it
alone would give back, shared_bytes the rest.

--freed vN, as often as needed, adds a last line, named "freed", that counts these
checkpoints as one: its exclusive_bytes is what deleting all of them would give
back, with what they share among themselves.

in: store; out: one usage a line`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.bundle, "bundle", "", "`BUNDLE`; its checkpoints are in checkpoints beside it")
			fs.Func("freed", "a `vN` that is to be counted in the line \"freed\"", func(s string) error {
				o.freed = append(o.freed, s)
				return nil
			})
		},
		Run: o.run,
	}
}

// used is the key "usage" of the record.
type used struct {
	Name           string `json:"name"`
	Dir            string `json:"dir"`
	LogicalBytes   int64  `json:"logical_bytes"`
	ExclusiveBytes int64  `json:"exclusive_bytes"`
	SharedBytes    int64  `json:"shared_bytes"`
}

func (o *duOptions) run(ctx context.Context, stdio command.IO, _ []string) error {
	told := o.bundle != ""
	rec, err := record.Input(ctx, stdio.In, told)
	if err != nil {
		return err
	}
	if !told {
		if err := fromRecord(rec, &o.bundle, nil, nil); err != nil {
			return err
		}
	}
	groups, err := o.measure()
	if err != nil {
		return err
	}
	for _, g := range groups {
		line := used{g.Name, g.Path, g.Logical, g.Exclusive, g.Logical - g.Exclusive}
		if err := writeUsed(rec, line, stdio); err != nil {
			return err
		}
	}
	return nil
}

func writeUsed(rec *record.Record, line used, stdio command.IO) error {
	if err := rec.Set("usage", line); err != nil {
		return err
	}
	return rec.Write(stdio.Out)
}

// measure gives each group and, where it is asked for, their union.
func (o *duOptions) measure() ([]usage.Group, error) {
	path, err := filepath.Abs(o.bundle)
	if err != nil {
		return nil, err
	}
	bundle, err := dir.Open(path)
	if err != nil {
		return nil, err
	}
	defer bundle.Close()
	all := usage.New()
	defer all.Close()
	if err := o.addCheckpoints(all, filepath.Join(filepath.Dir(path), checkpointsName)); err != nil {
		return nil, err
	}
	live, err := openBands(bundle)
	if err != nil {
		return nil, err
	}
	if err := add(all, "live", live); err != nil {
		return nil, err
	}
	groups, err := all.Groups()
	if err == nil && len(o.freed) > 0 {
		union := all.Union()
		union.Name = "freed"
		groups = append(groups, union)
	}
	return groups, err
}

func (o *duOptions) addCheckpoints(all *usage.Collector, path string) error {
	beside, err := dir.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer beside.Close()
	versions, err := stage.Versions(beside)
	if err != nil {
		return err
	}
	slices.Sort(versions)
	for _, v := range versions {
		name := fmt.Sprintf("v%d", v)
		d, err := beside.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since it was listed
		}
		if err != nil {
			return err
		}
		if err := add(all, name, d); err != nil {
			return err
		}
		if slices.Contains(o.freed, name) {
			all.Choose()
		}
	}
	return nil
}

func add(all *usage.Collector, name string, d *dir.Dir) error {
	set, err := bands.Read(d)
	if err != nil {
		return err
	}
	return all.Add(name, set)
}
