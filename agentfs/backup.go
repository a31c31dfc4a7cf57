package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"agentfs.internal/agentfs/pipeline"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

var (
	backupSaved  = fault.Define("agentfs.backup.saved")  // the present is a checkpoint
	backupPlaced = fault.Define("agentfs.backup.placed") // what tells of the store is in the backup
	backupCopied = fault.Define("agentfs.backup.copied") // and the checkpoints
	backupPruned = fault.Define("agentfs.backup.pruned") // and those that are not here any more are gone
)

func (a *app) backupVerb() *command.Verb {
	var prune bool
	return &command.Verb{
		Name: "backup", Args: "DEST", Min: 1, Max: 1,
		Short: "copy a store's checkpoints to another disk",
		Long: `
Saves the present as a checkpoint, if anything has changed since the last one, and copies
every checkpoint that DEST/NAME lacks: of each, the bands that the one before it has not.
The store may be in use. DEST is a directory that there is, on any filesystem; without
hard links, each checkpoint there takes its full size. 'agentfs import DEST/NAME' brings
the store back, here or on another machine.

Each checkpoint appears in DEST when it is complete and durable. What is interrupted goes
on with the next backup. A damaged checkpoint is named and left out (status 1).`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&prune, "prune", false, "delete there the checkpoints that have been deleted here")
		},
		Run: func(ctx context.Context, _ command.IO, args []string) error {
			return a.backup(ctx, args[0], prune)
		},
	}
}

// backedUp is what backup --json shows.
type backedUp struct {
	Store       string   `json:"store"`
	Dir         string   `json:"dir"`         // of the store in the backup
	Copied      []string `json:"copied"`      // versions, oldest first
	Pruned      []string `json:"pruned"`      //
	Checkpoints int      `json:"checkpoints"` // that are there now
	Bytes       int64    `json:"bytes"`       // that were written
}

func (a *app) backup(ctx context.Context, dest string, prune bool) error {
	name, err := a.selected(ctx)
	if err != nil {
		return err
	}
	rec, st, err := a.take(ctx, name)
	if err != nil {
		return err
	}
	if dest, err = a.checkDest(dest, st); err != nil {
		return err
	}
	if err := a.saveBackup(ctx, rec, st); err != nil {
		return err
	}
	// From here on checkpoints may be made and deleted: those are copied that are there.
	_ = a.run.Lock.Close()
	a.run.Lock = nil
	if rec, st, err = a.get(ctx, name); err != nil {
		return err
	}
	list, err := a.history(ctx, name, 0)
	if err != nil {
		return err
	}
	slices.Reverse(list)
	if err := a.prepareBackup(dest, rec, st); err != nil {
		return err
	}
	return a.copyTo(ctx, dest, rec, list, prune)
}

// copyTo copies checkpoints, oldest first, and says what was done.
func (a *app) copyTo(ctx context.Context, dest string, rec *record.Record, list []record.Checkpoint, prune bool) error {
	done := backedUp{Store: filepath.Base(dest), Dir: dest, Copied: []string{}, Pruned: []string{}}
	a.stage("Copying checkpoints...")
	copied, failed := a.copyCheckpoints(ctx, rec, list, filepath.Join(dest, "checkpoints"))
	for _, rec := range copied {
		var cp record.Checkpoint
		var what record.Copied
		if err := errors.Join(rec.Get("checkpoint", &cp), rec.Get("copied", &what)); err != nil {
			return err
		}
		done.Copied = append(done.Copied, version(cp.Version))
		done.Bytes += what.Bytes
	}
	if failed != nil {
		return failed
	}
	if err := backupCopied.Reach(); err != nil {
		return err
	}
	there, err := versionsIn(filepath.Join(dest, "checkpoints"))
	if err != nil {
		return err
	}
	if prune {
		if done.Pruned, err = a.pruneBackup(ctx, dest, there, list); err != nil {
			return err
		}
	}
	done.Checkpoints = len(there) - len(done.Pruned)
	return a.result(done, fmt.Sprintf("Backed up %s to %s: %s copied (%s), %d there",
		quoted(done.Store), visible(tilde(dest)), counted(len(done.Copied)), size.Format(done.Bytes), done.Checkpoints))
}

// checkDest gives the store's directory in the backup.
func (a *app) checkDest(dest string, st record.Store) (string, error) {
	dest, err := a.abs(dest)
	if err != nil {
		return "", err
	}
	dest = physical(dest)
	info, err := os.Stat(dest)
	switch {
	case errors.Is(err, os.ErrNotExist): // a disk that is not there, perhaps
		return "", status.Errorf(status.General, "backup: %s: no such directory", dest).WithHint("mkdir %s", pipeline.Quote(dest))
	case err != nil:
		return "", status.Errorf(status.General, "backup: %w", err)
	case !info.IsDir():
		return "", status.Errorf(status.General, "backup: %s: not a directory", dest)
	case within(dest, st.MountPath), within(dest, physical(filepath.Join(a.home, "stores"))), within(dest, filepath.Dir(st.BundlePath)):
		return "", status.Errorf(status.General, "backup: %s is inside of what is to be backed up", dest).WithHint("choose a directory on another disk")
	}
	return filepath.Join(dest, st.Name), nil
}

// backupMessage is the message of the checkpoint that a backup makes first.
const backupMessage = "backup"

// saveBackup makes a checkpoint of the present, unless it is that of the one that it
// came from.
func (a *app) saveBackup(ctx context.Context, rec *record.Record, st record.Store) error {
	mounted, err := a.isMounted(ctx, st)
	if err != nil {
		return err
	}
	if st.Base != 0 {
		if changed, err := a.hasChanged(ctx, rec, st, mounted); err != nil || !changed {
			return err
		}
	}
	a.stage("Creating checkpoint...")
	rec, cp, err := a.save(ctx, saving{store: st.Name, message: backupMessage, mounted: mounted})
	if err != nil {
		return err
	}
	if err := backupSaved.Reach(); err != nil {
		return err
	}
	a.stage("Created %s", titled(cp))
	a.sweepAfter(ctx, rec)
	a.followUp(rec, cp)
	return nil
}

// hasChanged tells whether the present differs from the checkpoint that it came from.
// Of an image that is not mounted the bands are compared.
func (a *app) hasChanged(ctx context.Context, rec *record.Record, st record.Store, mounted bool) (bool, error) {
	_, _, base, err := a.checkpoint(ctx, st.Name, version(st.Base))
	if err != nil {
		return false, err
	}
	if mounted {
		return a.changedSince(ctx, st.BundlePath, base.Dir)
	}
	rec = rec.Without("checkpoint")
	if err := rec.Set("checkpoint", base); err != nil {
		return false, err
	}
	if rec, err = a.run.Run(ctx, rec, pipeline.Tool("bandclone", "compare", "--quick")); err != nil {
		return false, err
	}
	var found struct {
		Equal bool `json:"equal"`
	}
	err = rec.Get("compare", &found)
	return !found.Equal, err
}

// prepareBackup makes the store's directory in the backup, takes its lock, and puts there what
// tells of the store and of its image.
func (a *app) prepareBackup(dest string, rec *record.Record, st record.Store) error {
	bundle := filepath.Join(dest, filepath.Base(st.BundlePath))
	for _, dir := range []string{dest, bundle, filepath.Join(bundle, "bands")} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if err := a.lockBackup(dest); err != nil {
		return err
	}
	if err := sameStore(dest, st); err != nil {
		return err
	}
	entries, err := os.ReadDir(st.BundlePath)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(st.BundlePath, e.Name()))
		if err == nil {
			err = placeFile(filepath.Join(bundle, e.Name()), text)
		}
		if err != nil {
			return err
		}
	}
	text, err := rec.Without("checkpoint").MarshalJSON()
	if err == nil { // last: with it there is a backup
		err = placeFile(filepath.Join(dest, record.StoreFile), append(text, '\n'))
	}
	if err != nil {
		return err
	}
	return backupPlaced.Reach()
}

// lockBackup keeps others from the store's directory in the backup, until the last
// stage has ended.
func (a *app) lockBackup(dest string) error {
	dir, err := os.Open(dest)
	if err != nil {
		return err
	}
	if err := flock(int(dir.Fd()), syscall.LOCK_NB); err != nil {
		dir.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return status.Errorf(status.General, "backup: another backup to %s is at work", dest).WithHint("try again when it has ended")
		}
		return err
	}
	a.run.Lock = dir
	return nil
}

// sameStore refuses to mix two stores in one directory.
func sameStore(dest string, st record.Store) error {
	rec, err := readRecord(filepath.Join(dest, record.StoreFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var there record.Store
	if err == nil {
		err = rec.Get("store", &there)
	}
	if err == nil && there.ID != st.ID {
		return status.Errorf(status.General, "backup: %s is the backup of another store that had the name %s", dest, quoted(st.Name)).
			WithHint("choose another directory, or move that one away")
	}
	return nil // one that cannot be read is written anew
}

// placeFile makes a file what it should be, in one step and durably.
func placeFile(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(text) {
		return nil
	}
	aside := path + ".new"
	f, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(aside, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// versionsIn lists the checkpoints in a directory.
func versionsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var list []string
	for _, e := range entries {
		if e.IsDir() && versionShape.MatchString(e.Name()) {
			list = append(list, e.Name())
		}
	}
	return list, err
}

// pruneBackup deletes the checkpoints of a backup that are not in the list.
func (a *app) pruneBackup(ctx context.Context, dest string, there []string, list []record.Checkpoint) ([]string, error) {
	pruned := []string{}
	for _, v := range there {
		if slices.ContainsFunc(list, func(cp record.Checkpoint) bool { return version(cp.Version) == v }) {
			continue
		}
		if err := a.run.Exec(ctx, nil, pipeline.Tool("bandclone", "rm", filepath.Join(dest, "checkpoints", v)).Then(backupPruned.Reach)); err != nil {
			return pruned, err
		}
		pruned = append(pruned, v)
	}
	return pruned, nil
}
