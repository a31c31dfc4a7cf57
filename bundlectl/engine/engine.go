// Package engine says what bundlectl asks of the machinery below it: the band
// server with loop device and ext4 on Linux, hdiutil with APFS on macOS.
//
// # Lifecycle
//
//	Create ─► Attach ─► Quiesce* ─► Detach ─► Attach …
//	             │                     │
//	             └ List, Changed       └ Compact, Resize
//
// A bundle is made once, by Create, and is then detached. Attach makes its
// filesystem usable at a mountpoint; from then on the bundle belongs to the
// engine and its bands must not be touched by others, except by the function
// that Quiesce runs, and by it only to link or clone them. Detach ends that:
// when it returns, every byte is in the bands and nobody holds them. Compact and
// Resize work on a detached bundle; an engine may allow them on an attached one.
//
// # Words
//
//   - bundle: the absolute path of the .sparsebundle directory; it names the
//     image in every call. An image is known by it even when it was attached by
//     another process or under another spelling of the path (/tmp, /private/tmp).
//   - mount: the absolute path of the mountpoint directory.
//   - image: what the bands make up, a disk with one filesystem in it.
//
// # Errors
//
// They say what was done to which bundle and why it did not work, in one line,
// and carry their exit status: status.CannotRun where the machine lacks
// something, status.Mount where a mount failed or is in the way,
// status.General else. A method that fails takes down what it had set up.
//
// # Example
//
//	if err := e.Check(ctx); err != nil { return err }
//	_, err := e.Create(ctx, bundle, engine.CreateParams{Size: 50 << 30})
//	img, err := e.Attach(ctx, bundle, mount) // img.MountPath == mount
//	err = e.Quiesce(ctx, bundle, func() error { return clone(bundle) })
//	img, err = e.Detach(ctx, bundle)         // img.Attached == false
package engine

import (
	"context"
	"os"
	"time"

	"agentfs.internal/tool/record"
)

// Engine attaches and detaches bundles on one kind of system.
type Engine interface {
	// Check tells whether this machine can run the engine at all; the error has
	// status.CannotRun and a hint that cures it. It changes nothing.
	Check(ctx context.Context) error

	// Create makes the bundle, with a filesystem in it, and leaves it detached.
	// The bundle must not exist, its parent must. On error nothing is left.
	Create(ctx context.Context, bundle string, p CreateParams) (*record.Image, error)

	// Attach mounts the bundle's filesystem at mount, an empty directory, made
	// if it is missing. It returns when the mount can be used. A bundle that is
	// already attached is an error that names its mountpoint.
	Attach(ctx context.Context, bundle, mount string) (*record.Image, error)

	// Aside makes the trees of checkpoints of the bundle readable where nobody else
	// sees them, and returns run's error unchanged. The checkpoints' bands are not
	// written. The trees are there until run returns and, where they have a Root,
	// until no process has that any more.
	Aside(ctx context.Context, bundle string, p AsideParams, run func(v *View) error) error

	// NewUUID gives the filesystem mounted at mount a random UUID. One whose
	// copies tell themselves apart needs none, and nothing happens.
	NewUUID(mount string) error

	// Detach unmounts and lets go of the bundle. A busy mount is an error, the
	// mount then stays as it was. A bundle that is not attached is an error.
	Detach(ctx context.Context, bundle string) (*record.Image, error)

	// DetachForce ends a mount that hangs or is busy: who reads or writes gets errors,
	// and what was not synced is lost.
	DetachForce(ctx context.Context, bundle string) (*record.Image, error)

	// Handover is Detach for whoever is about to replace the bands and attach again:
	// it need not wait until the system has cleared away all that it knew of the
	// filesystem. What is left of it can no longer write.
	Handover(ctx context.Context, bundle string) (*record.Image, error)

	// Quiesce runs run while the bands hold all that was written to the mount
	// before the call, and returns its error unchanged. Whatever becomes of run,
	// writing goes on afterwards.
	Quiesce(ctx context.Context, bundle string, run func() error) error

	// Changed tells whether the mounted filesystem differs from the one in a
	// checkpoint's directory of bands, from which its bands have come. What it keeps
	// for itself, as how often it was mounted, makes no difference.
	Changed(ctx context.Context, bundle, dir string) (*record.Image, bool, error)

	// Files tells, for each of some bands of a checkpoint of the bundle, what lies in it.
	// Where the checkpoint cannot be mounted the error has status.Mount.
	Files(ctx context.Context, bundle, checkpoint string, bands []int64) ([]Within, error)

	// Compact gives space that the filesystem does not use back to the host.
	Compact(ctx context.Context, bundle string) (*record.Image, error)

	// Resize grows the image and the filesystem in it to size bytes. Making it
	// smaller is an error.
	Resize(ctx context.Context, bundle string, size int64) (*record.Image, error)

	// Problems looks for what keeps bundles from being used, and for what dead band
	// servers have left of them; with repair it ends what it can. The first are those
	// of the machine.
	Problems(ctx context.Context, bundles []string, repair bool) []Problem

	// List gives what is attached now, by bundle path; nothing is an empty list,
	// not nil. Images that are no bundles of ours are left out.
	List(ctx context.Context) ([]record.Image, error)
}

// AsideParams say what Aside shows.
type AsideParams struct {
	Checkpoints []string // directories of bands, one or more
	// Changed asks for the inodes that may differ between the first two checkpoints
	// or, if there is one, between it and the bundle as it is mounted; Parted is when
	// the two trees parted at the earliest.
	Changed bool
	Parted  time.Time
}

// View is what Aside shows.
type View struct {
	Trees []Tree // of the checkpoints, in their order
	// Changed, where it was asked for, has the numbers of the inodes that may differ,
	// as "12" or "12-40", a line each; or one line "all", where that is not known.
	Changed *os.File
	Keep    *os.File // where not nil, for the same processes as the trees' roots
}

// AllChanged is the whole of View.Changed where it is not known what has changed.
const AllChanged = "all\n"

// Tree is the directory of a checkpoint's tree: one of the two.
type Tree struct {
	Path string
	Root *os.File // what processes must inherit to reach it
}

// Problem is one thing that is not as it should be.
type Problem struct {
	record.Problem
	Hint     string // what to do, may be empty
	Repaired bool
}

// The kinds of problems.
const (
	ProblemMachine  = "machine"  // it lacks what is needed
	ProblemBundle   = "bundle"   // its Info.plist, or a live band, is damaged
	ProblemDead     = "dead"     // it is mounted, and nobody serves it
	ProblemHang     = "hang"     // its server does not answer
	ProblemLeftover = "leftover" // a dead server's socket or log
)

// Within is what lies in a band.
type Within struct {
	Files      []string // paths in the tree, of regular files with data in it and of what could not be looked at
	Structures bool     // what the filesystem keeps for itself: tables, bitmaps, directories, its journal
}

// CreateParams are the facts of a new bundle.
type CreateParams struct {
	Size     int64  // bytes of the image
	BandSize int64  // bytes of a band; 0 for the engine's own choice
	UID, GID int    // owner of the filesystem's root directory
	VolName  string // name of the volume; "" for the bundle's name without suffix
}
