//go:build linux

package linux

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/serve"
)

// recordEnv names the file in which a server logs what is done to the image, for tests
// that replay it.
const recordEnv = "AGENTFS_RECORD"

// session is an attach in the making: server, served file, loop device. Closing
// its descriptors before the device is mounted takes all of it down.
type session struct {
	bundle *bundle.Bundle
	id     string
	aside  string // a checkpoint's directory: its bands are served, to be read
	direct bool   // image blocks are large enough for direct I/O
	server *exec.Cmd
	mount  int // descriptor of the detached FUSE mount
	image  int // descriptor of the served file
	loop   *loopDevice
}

// newSession starts the band server and sets up the loop device.
func newSession(b *bundle.Bundle) (*session, error) {
	id, err := identity(b.Path)
	if err != nil {
		return nil, err
	}
	return set(&session{bundle: b, id: id})
}

// set takes the steps of an attach up to the loop device.
func set(s *session) (*session, error) {
	s.direct, s.mount, s.image = blockSize(s.bundle) >= serve.DirectBlock, -1, -1
	for _, step := range []func() error{s.startServer, s.openImage, s.setUpLoop} {
		if err := step(); err != nil {
			s.close(false)
			return nil, err
		}
	}
	return s, nil
}

// newAside is newSession for a checkpoint's bands.
func newAside(b *bundle.Bundle, checkpoint string) (*session, error) {
	return set(&session{bundle: b, aside: checkpoint})
}

// startServer makes the FUSE mount, starts the server on it and waits until it
// says that it serves, or why it does not.
func (s *session) startServer() error {
	fuseFD, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return cannot(fmt.Sprintf("/dev/fuse: %v", err), "modprobe fuse; in a container, pass the device in")
	}
	dev := os.NewFile(uintptr(fuseFD), "/dev/fuse")
	defer dev.Close()
	if s.mount, err = mountFUSE(fuseFD); err != nil {
		return fmt.Errorf("FUSE mount: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	self, err := os.Executable() // not /proc/self/exe: its name is what ps shows
	if err != nil {
		return err
	}
	s.server = exec.Command(self, "serve", s.bundle.Path, "--direct="+strconv.FormatBool(s.direct), "--checkpoint="+s.aside)
	if log := os.Getenv(recordEnv); log != "" && s.aside == "" {
		s.server.Args = append(s.server.Args, "--record="+log)
	}
	s.server.Dir = "/"
	s.server.ExtraFiles = []*os.File{dev, w}
	s.server.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Unshareflags: unix.CLONE_NEWNS}
	err = s.server.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("band server: %w", err)
	}
	if err := s.awaitReady(r); err != nil {
		return err
	}
	return attachServed.Reach()
}

func (s *session) awaitReady(r io.Reader) error {
	word, err := io.ReadAll(r)
	if err == nil && string(word) == serve.Ready {
		return nil
	}
	if err == nil && len(word) == 0 {
		err = fmt.Errorf("ended without a word: %v", s.server.Wait())
		s.server = nil
	}
	if err != nil {
		return fmt.Errorf("band server: %w", err)
	}
	return fmt.Errorf("band server: %s", word)
}

// mountFUSE makes a FUSE mount that is in no namespace.
func mountFUSE(fuseFD int) (int, error) {
	fs, err := unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("fsopen (Linux 5.2 or newer is needed): %w", err)
	}
	defer unix.Close(fs)
	for _, o := range [][2]string{
		{"source", "agentfs"}, {"fd", strconv.Itoa(fuseFD)}, {"rootmode", "40000"},
		{"user_id", "0"}, {"group_id", "0"}, {"max_read", strconv.Itoa(serve.MaxRequest)},
	} {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return -1, fmt.Errorf("option %s: %w", o[0], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

func (s *session) openImage() (err error) {
	name := filePrefix + s.id
	if s.aside != "" {
		name = asideName
	}
	s.image, err = unix.Openat(s.mount, name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the served image: %w", err)
	}
	return nil
}

func (s *session) setUpLoop() (err error) {
	s.loop, err = configureLoop(s.image, s.direct)
	if err != nil {
		return err
	}
	s.loop.prefetchJournal()
	if s.aside == "" {
		s.loop.probeDiscard(s.id, s.bundle.Info.Size)
	}
	return nil
}

// close lets go of everything. If the device is not in use by then, that ends
// the server, which is waited for unless the mount keeps it.
func (s *session) close(mounted bool) {
	if s.loop != nil {
		s.loop.close()
	}
	for _, fd := range []int{s.image, s.mount} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	if s.server != nil && !mounted {
		_ = s.server.Wait()
	}
}
