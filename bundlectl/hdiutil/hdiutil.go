// Package hdiutil is the engine on macOS: it runs Apple's hdiutil(1) and reads
// the property lists that it answers with. The filesystem in the image is APFS;
// the kernel does the rest, so there is no server and no gate.
//
// hdiutil speaks in errno values: its exit status 16 is EBUSY, 35 is EAGAIN.
// Both often pass by themselves, while Spotlight looks at a fresh volume or the
// helper process of the last attach is still going away: such a call is made
// again, a few times, after growing pauses. Nothing is ever forced: a forced
// unmount loses what programs have not written yet.
//
// The package builds on every system, and is tested against a stand-in program.
// docs/macos.md has the facts that it rests on.
package hdiutil

import (
	"context"
	"os/exec"
	"time"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/status"
)

var _ engine.Engine = Engine{}

// BandSize is what hdiutil chooses itself, 8 MiB. On APFS, where a clone of a
// band shares its blocks, a large band costs nothing at its first write.
const BandSize = 8 << 20

const program = "hdiutil"

// Engine runs hdiutil. It keeps nothing between calls: what is attached is asked
// of hdiutil each time.
type Engine struct{}

// pauses are the waits before the second, third … try of a call.
var pauses = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second}

// Check tells whether hdiutil is there.
func (Engine) Check(context.Context) error {
	if _, err := exec.LookPath(program); err != nil {
		return missing()
	}
	return nil
}

func missing() error {
	return status.Errorf(status.CannotRun, "%s: not found", program).
		WithHint("it is a part of macOS, in /usr/bin: is that in PATH?")
}
