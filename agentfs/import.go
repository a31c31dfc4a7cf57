package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

var (
	importUnpacked = fault.Define("agentfs.import.unpacked") // an archive is in the mount
	importSaved    = fault.Define("agentfs.import.saved")    // and is v1
)

// importOptions are the flags of import.
type importOptions struct {
	size, mount string
	skipDamaged bool
}

func (a *app) importVerb() *command.Verb {
	var o importOptions
	return &command.Verb{
		Name: "import", Args: "[SOURCE] NAME|PATH", Min: 1, Max: 2,
		Short: "make a store of an archive or of a backup",
		Long: `
SOURCE is an archive that 'agentfs export' has made or any other tar, plain or compressed
with zstd or gzip; without it, or with '-', the archive is read from standard input. It
becomes the files and v1 of a new store. NAME or PATH and --mount say where it is
mounted, as with init.

Or SOURCE is a store's directory in a backup that 'agentfs backup' has made: its
checkpoints come back with their versions, messages, times and pins, and the newest one
is mounted. Then NAME may be left out: it is that of the store.

If it fails nothing is left of the new store.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.size, "size", "", "of an archive: the `SIZE` of the image, as in 50G, as with init")
			fs.StringVar(&o.mount, "mount", "", "the `PATH` of the mountpoint")
			fs.BoolVar(&o.skipDamaged, "skip-damaged", false, "of a backup: leave out checkpoints that are damaged")
		},
		Run: func(ctx context.Context, _ command.IO, args []string) error {
			return a.imports(ctx, args, o)
		},
	}
}

// imported is what import --json shows.
type imported struct {
	mounted
	Checkpoints []string `json:"checkpoints"` // that came with it, oldest first
}

func (a *app) imports(ctx context.Context, args []string, o importOptions) error {
	source, arg := "-", args[len(args)-1]
	if len(args) == 2 || a.isBackup(arg) {
		source = args[0]
	}
	if a.isBackup(source) {
		return a.importBackup(ctx, source, args[1:], o)
	}
	if o.skipDamaged {
		return status.Errorf(status.Usage, "import: --skip-damaged is for a backup").WithHint("agentfs import -h")
	}
	return a.importArchive(ctx, source, arg, o)
}

// isBackup tells whether a path is a store's directory.
func (a *app) isBackup(path string) bool {
	path, err := a.abs(path)
	if err != nil {
		return false
	}
	st, err := os.Stat(filepath.Join(path, record.StoreFile))
	return err == nil && st.Mode().IsRegular()
}

// importArchive makes a store whose files, and first checkpoint, are those of an
// archive.
func (a *app) importArchive(ctx context.Context, source, arg string, o importOptions) error {
	in, err := a.openArchive(source)
	if err != nil {
		return err
	}
	defer in.Close()
	p, err := a.plan(arg, initOptions{size: o.size, mount: o.mount})
	if err != nil {
		return err
	}
	p.full = true
	var cp record.Checkpoint
	err = a.found(ctx, p, func(ctx context.Context, p *plan) error {
		cp, err = a.buildFrom(ctx, p, in)
		return err
	})
	if err != nil {
		return err
	}
	return a.sayImported(p, []record.Checkpoint{cp})
}

// sayImported says what has been imported.
func (a *app) sayImported(p plan, came []record.Checkpoint) error {
	st := record.Store{Name: p.name, MountPath: p.mount, SizeBytes: p.size}
	doc := imported{mountOf(st, true), []string{}}
	for _, cp := range came {
		doc.Checkpoints = append(doc.Checkpoints, version(cp.Version))
	}
	newest := came[len(came)-1]
	what := "Imported " + titled(newest) + " as " + quoted(p.name)
	if len(came) > 1 {
		what = fmt.Sprintf("Imported %s and %d more as %s", titled(newest), len(came)-1, quoted(p.name))
	}
	return a.result(doc, what, "Mounted at "+visible(tilde(p.mount)))
}

// openArchive opens the source, to be read by a stage.
func (a *app) openArchive(source string) (*os.File, error) {
	if source == "-" {
		if in, ok := a.io.In.(*os.File); ok {
			return in, nil
		}
		return nil, status.Errorf(status.General, "import: standard input is no file")
	}
	source, err := a.abs(source)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(source)
	if err != nil {
		return nil, status.Errorf(status.General, "import: %w", err)
	}
	if st, err := in.Stat(); err == nil && st.IsDir() {
		in.Close()
		return nil, status.Errorf(status.General, "import: %s: no archive, and no %s in it", source, record.StoreFile).
			WithHint("agentfs init NAME --from %s", pipeline.Quote(source))
	}
	return in, nil
}

// buildFrom makes the store, and its first checkpoint.
func (a *app) buildFrom(ctx context.Context, p *plan, in *os.File) (cp record.Checkpoint, err error) {
	rec, err := a.addStore(ctx, p)
	if err != nil {
		return cp, err
	}
	if err := initAdded.Reach(); err != nil {
		return cp, err
	}
	if err := a.run.Exec(ctx, rec,
		pipeline.Tool("bundlectl", "create").Then(initCreated.Reach),
		pipeline.Tool("bundlectl", "attach").Then(initAttached.Reach)); err != nil {
		return cp, err
	}
	words := []string{"treediff", "unpack", "--devices", p.mount} // none can be opened there
	if isTerminal(a.io.Err) {
		words = append(words, "--progress")
	}
	unpacked, err := a.run.Run(ctx, nil, pipeline.Tool(words...).Then(importUnpacked.Reach).Showing(a.io.Err).Reading(in))
	if err != nil {
		return cp, err
	}
	if cp, err = firstCheckpoint(p, unpacked); err != nil {
		return cp, err
	}
	if err := rec.Set("checkpoint", cp); err != nil {
		return cp, err
	}
	if err := a.run.Exec(ctx, rec,
		pipeline.Tool(append(a.quiesce(p.name), "bandclone", "create")...),
		pipeline.Tool("cpdb", "checkpoint", "add", "--store", p.name).Then(importSaved.Reach)); err != nil {
		return cp, err
	}
	return cp, a.run.Exec(ctx, rec, setReady(true))
}

// firstCheckpoint gives the checkpoint that an archive becomes: what travelled with it is
// said of it, but for its version.
func firstCheckpoint(p *plan, unpacked *record.Record) (record.Checkpoint, error) {
	from := record.Origin{Message: "import", CreatedAt: time.Now().UTC().Truncate(time.Microsecond)}
	if unpacked.Has("origin") {
		if err := unpacked.Get("origin", &from); err != nil {
			return record.Checkpoint{}, err
		}
	}
	return record.Checkpoint{
		Version: 1, Dir: filepath.Join(p.checkpoints(), version(1)), Status: record.CheckpointReady,
		Message: from.Message, CreatedAt: from.CreatedAt, Causality: from.Causality,
	}, nil
}

// checkpoints is the directory of the store's checkpoints.
func (p *plan) checkpoints() string { return filepath.Join(filepath.Dir(p.bundle), "checkpoints") }
