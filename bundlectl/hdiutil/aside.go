package hdiutil

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/status"
)

// asidePrefix starts the name of a directory beside the bundle that holds what Aside
// attaches; the number of the process that made it follows.
const asidePrefix = ".aside-"

// Aside attaches copies of the bundle that have a checkpoint's bands, by hard links:
// hdiutil does not write them, because a shadow file takes what would be written.
// What a killed process has left is cleared away first.
func (Engine) Aside(ctx context.Context, path string, p engine.AsideParams, run func(v *engine.View) error) (err error) {
	b, err := bundle.Open(path)
	if err != nil {
		return err
	}
	if err := sweepAside(ctx, filepath.Dir(path)); err != nil {
		return wrap(status.Mount, "attach", path, err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), asidePrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return err
	}
	defer func() { err = also(err, endAside(context.WithoutCancel(ctx), temp)) }()
	v := &engine.View{}
	for i, dir := range p.Checkpoints {
		mount, err := attachAside(ctx, b, dir, filepath.Join(temp, strconv.Itoa(i)))
		if err != nil {
			return wrap(status.Mount, "attach", dir, err)
		}
		v.Trees = append(v.Trees, engine.Tree{Path: mount})
	}
	if p.Changed { // APFS tells nobody what has changed in it
		if v.Changed, err = os.Create(filepath.Join(temp, "changed")); err != nil {
			return err
		}
		defer v.Changed.Close()
		if _, err := v.Changed.WriteString(engine.AllChanged); err != nil {
			return err
		}
	}
	return run(v)
}

// attachAside makes the directory at with a bundle, a shadow and a mountpoint, and
// gives the last.
func attachAside(ctx context.Context, b *bundle.Bundle, dir, at string) (string, error) {
	if err := os.Mkdir(at, 0o700); err != nil {
		return "", err
	}
	image, mount := filepath.Join(at, "checkpoint"+bundle.Suffix), filepath.Join(at, "tree")
	if err := bundle.Write(image, b.Info); err != nil {
		return "", err
	}
	if err := linkBands(dir, filepath.Join(image, "bands")); err != nil {
		return "", err
	}
	if _, err := prepare(image, mount); err != nil {
		return "", err
	}
	_, err := attach(ctx, image, mount, "-readonly", "-shadow", filepath.Join(at, "shadow"))
	return mount, err
}

func linkBands(from, to string) error {
	list, err := bundle.BandsIn(from)
	if err != nil {
		return err
	}
	for _, i := range list {
		name := bundle.BandName(i)
		if err := os.Link(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// endAside detaches what is attached in temp and removes it.
func endAside(ctx context.Context, temp string) error {
	images, err := filepath.Glob(filepath.Join(temp, "*", "*"+bundle.Suffix))
	for _, image := range images {
		d, e := find(ctx, image)
		if e == nil && d != nil {
			e = detach(ctx, d)
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(temp)
}

// sweepAside ends what processes have left that are dead.
func sweepAside(ctx context.Context, dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, asidePrefix+"*"))
	for _, temp := range left {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(temp), asidePrefix), "-")
		pid, e := strconv.Atoi(number)
		if e != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		if e := endAside(ctx, temp); e != nil {
			err = errors.Join(err, fmt.Errorf("left by process %d: %w", pid, e))
		}
	}
	return err
}
