//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/serve"
	"agentfs.internal/tool/record"
)

// runDir holds a control socket and a log for each band server. It is on tmpfs,
// never on a mount that a server serves.
const runDir = "/run/agentfs"

// filePrefix starts the name of the served file, which sysfs and losetup(8) show
// as the loop device's backing file.
const filePrefix = "agentfs-"

var errNotAttached = errors.New("not attached")

// identity names a bundle for as long as its directory lives, whatever path
// leads to it.
func identity(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return fmt.Sprintf("%x-%x", st.Dev, st.Ino), nil
}

func socketPath(id string) string { return filepath.Join(runDir, id+".sock") }
func logPath(id string) string    { return filepath.Join(runDir, id+".log") }

// attachment is what stands on one bundle now.
type attachment struct {
	bundle string
	id     string
	device string   // /dev/loop3; "" if it has none (yet, or any more)
	mounts []string // where the device is mounted in this namespace
	pid    int      // of the band server; 0 if it is dead
	server serve.Reply
}

// find gives the bundle's attachment, errNotAttached if there is none. A living
// server knows its device; a device that is mounted but without a server is what a
// killed server leaves behind.
func find(path string) (*attachment, error) {
	id, err := identity(path)
	if err != nil {
		return nil, err
	}
	a := &attachment{bundle: path, id: id}
	if reply, err := ask(id, serve.Request{Op: "info"}); err == nil {
		a.pid, a.device, a.server = reply.PID, reply.Device, *reply
	}
	devices := []string{a.device}
	if a.device == "" {
		if devices, err = findDevices(id); err != nil {
			return nil, err
		}
	}
	if err := a.findMounts(devices); err != nil {
		return nil, err
	}
	if a.device == "" && a.pid == 0 {
		return nil, errNotAttached
	}
	return a, nil
}

// findMounts takes the device that is mounted here. Another one may stand on the
// same bundle for a moment, after a handover: that is mounted nowhere.
func (a *attachment) findMounts(devices []string) error {
	for _, device := range devices {
		mounts, err := mountsOf(device)
		if err != nil {
			return err
		}
		if len(mounts) > 0 {
			a.device, a.mounts = device, mounts
		}
	}
	return nil
}

// findDevices gives the loop devices that stand on the served file of a bundle.
func findDevices(id string) ([]string, error) {
	var devices []string
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // cleared in between
		}
		if name := strings.TrimSpace(string(text)); filepath.Base(name) == filePrefix+id {
			devices = append(devices, "/dev/"+strings.Split(file, "/")[3])
		}
	}
	return devices, nil
}

// mountsOf gives the mountpoints of a device in this namespace, the one that was
// mounted last first.
func mountsOf(device string) ([]string, error) {
	if device == "" {
		return nil, nil
	}
	infos, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Source != device, false })
	if err != nil {
		return nil, err
	}
	var mounts []string
	for _, m := range infos {
		mounts = append([]string{m.Mountpoint}, mounts...)
	}
	return mounts, nil
}

func (a *attachment) fill(img *record.Image) {
	img.Attached = a.pid != 0
	img.Device, img.ServerPID = a.device, a.pid
	img.StandbyPID, img.ServerReplaced, img.ServerReplacedAt = a.server.StandbyPID, a.server.Replaced, a.server.ReplacedAt
	if len(a.mounts) > 0 {
		img.MountPath = a.mounts[0]
	}
}
