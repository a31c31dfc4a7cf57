//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"agentfs.internal/testscripts/crash/claims"
	"agentfs.internal/testscripts/crash/host"
	"agentfs.internal/testscripts/crash/workload"
	"agentfs.internal/tool/durable"
)

// hostSource makes the crash states of package host: of the directories that hold the
// stores and the database.
type hostSource struct {
	recording
	seed uint64
}

func (s *hostSource) below() string   { return filepath.Join(s.dir, "below") }
func (s *hostSource) started() string { return filepath.Join(s.dir, "started") }

// alive is the file of the claims that hold where processes die and the host goes on.
func (s *hostSource) alive() string { return filepath.Join(s.dir, "claims-alive") }

func (s *hostSource) kinds() []kind {
	share := map[string]float64{"host-prefix": 0.08, "host-fsync": 0.08, "host-drop": 0.12, "host-any": 0.08, "host-control": 0.04}
	var list []kind
	for _, m := range host.Models {
		list = append(list, kind{m.Name, share[m.Name], m.Control})
	}
	return list
}

// record runs a workload on a home that lies on the recording filesystem.
func (s *hostSource) record(ctx context.Context, seed uint64, rounds int) error {
	for _, dir := range []string{s.dir, s.root(), s.below()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	unmount, err := s.mount()
	if err != nil {
		return err
	}
	return errors.Join(s.work(ctx, seed, rounds), unmount(), s.claimsAlive())
}

// mount mounts the recording filesystem.
func (s *hostSource) mount() (unmount func() error, err error) {
	cmd := exec.Command("/proc/self/exe", wordRecord, s.root(), s.below(), s.log())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, errors.Join(err, cmd.Wait())
	}
	return func() error {
		err := unix.EBUSY
		for range 300 { // what agentfs has left in the background ends
			if err := unix.Unmount(s.root(), 0); err == nil {
				return cmd.Wait()
			}
			time.Sleep(100 * time.Millisecond)
		}
		return fmt.Errorf("unmount %s: %w", s.root(), err)
	}, nil
}

func (s *hostSource) work(ctx context.Context, seed uint64, rounds int) error {
	if err := durable.Mkdir(s.home(), 0o700); err != nil { // its user's, and safe
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	told, err := claims.Create(s.claims())
	if err != nil {
		return err
	}
	defer told.Close()
	return workload.Run(ctx, workload.Config{
		Home:     s.home(),
		Dir:      s.root(),
		Env:      workload.Env,
		Hasher:   []string{self, wordTreehash},
		Seed:     seed,
		Rounds:   rounds,
		Claims:   told,
		Position: s.position,
		Start:    func() error { return os.WriteFile(s.started(), fmt.Append(nil, s.position()), 0o600) },
	})
}

// position counts time in bytes of the log.
func (s *hostSource) position() int64 {
	info, err := os.Stat(s.log())
	if err != nil {
		return 0
	}
	return info.Size()
}

// claimsAlive writes down what holds where the host goes on: there each checkpoint is
// as safe as a durable one.
func (s *hostSource) claimsAlive() error {
	list, err := claims.Read(s.claims())
	if err != nil {
		return err
	}
	log, err := claims.Create(s.alive())
	if err != nil {
		return err
	}
	for _, c := range list {
		err = errors.Join(err, log.Add(c))
		if c.Kind == claims.Checkpoint {
			c.Kind, c.Tree, c.Alone = claims.Durable, "", false
			err = errors.Join(err, log.Add(c))
		}
	}
	return errors.Join(err, log.Close())
}

func (s *hostSource) states(kind string, indexes []int, done func(s crashState, write func(dir string) error) error) error {
	log, err := host.Read(s.log())
	if err != nil {
		return err
	}
	defer log.Close()
	from, err := s.first(log)
	if err != nil {
		return err
	}
	model := host.Models[slices.IndexFunc(host.Models, func(m host.Model) bool { return m.Name == kind })]
	for _, i := range indexes {
		name := fnv.New64a()
		fmt.Fprintf(name, "%s:%d", kind, i)
		st := model.State(log, from, rand.New(rand.NewPCG(s.seed, name.Sum64())))
		state := crashState{Kind: kind, Index: i, Cut: st.Position(), Seed: uint64(i), Root: s.root(), Claims: s.alive()}
		if model.Power { // then the machine has started again
			state.Claims, state.Env = s.claims(), []string{"AGENTFS_BOOT_ID=another"}
		}
		if err := done(state, st.Build); err != nil {
			return err
		}
	}
	return nil
}

// first is the number of operations before which nothing is claimed.
func (s *hostSource) first(log *host.Log) (int, error) {
	text, err := os.ReadFile(s.started())
	if err != nil {
		return 0, err
	}
	at, err := strconv.ParseInt(string(text), 10, 64)
	return log.At(at), err
}
