package main

import (
	"time"

	"agentfs.internal/bandclone/internal/bands"
	"agentfs.internal/bandclone/internal/stage"
)

// prepare links, while the bands may still change, those that the parent holds:
// from the parent's directory, where nothing changes. They are sealed already,
// so no writer is held up. What does not work here is done by make.
func (c *creation) prepare() error {
	defer c.measure(time.Now())
	if c.methods[0] != bands.Link {
		return nil
	}
	live, err := bands.Read(c.live)
	if err != nil {
		return err
	}
	if err := c.adopt(live); err != nil {
		return err
	}
	if c.clone == nil {
		if err := c.begin(); err != nil {
			return err
		}
	}
	if c.parent != nil && live.Dev == c.parent.Dev {
		err = c.share(live)
	}
	if err == nil {
		err = createStaged.Reach()
	}
	return err
}

// adopt starts with the spare, if there is one, and keeps of it what the live
// bands are.
func (c *creation) adopt(live *bands.Set) error {
	s, err := stage.Adopt(c.beside, spareName, "."+c.name)
	if s == nil || err != nil {
		return err
	}
	c.clone = &clone{cloner: bands.Cloner{From: c.live, To: s.Dir, Methods: c.methods, Mode: bands.SealedMode}, stage: s}
	have, err := bands.Read(s.Dir)
	if err != nil {
		return err
	}
	for _, note := range have.Notes {
		if err := s.Unlink(note); err != nil {
			return err
		}
	}
	return bands.Pairs(live, have, func(p bands.Pair) error {
		if p.SameFile() && live.Dev == have.Dev {
			return c.keep(p.A)
		}
		if p.InB {
			return s.Unlink(bands.Name(p.Num))
		}
		return nil
	})
}

// keep notes a band that is in the temporary directory.
func (c *creation) keep(b bands.Band) error {
	info, err := c.clone.stage.Stat(b.Name())
	if err == nil {
		c.held = append(c.held, held{b, info.Size})
	}
	return err
}

// share links what the parent holds and the spare did not.
func (c *creation) share(live *bands.Set) error {
	kept := c.held
	c.held = make([]held, 0, len(live.Bands))
	return bands.Pairs(live, c.parent, func(p bands.Pair) error {
		switch {
		case len(kept) > 0 && kept[0].Num == p.Num:
			c.held, kept = append(c.held, kept[0]), kept[1:]
		case p.SameFile():
			c.hold(p.A)
		}
		return nil
	})
}

func (c *creation) hold(b bands.Band) {
	if c.parent.Dir.Link(c.clone.stage.Dir, b.Name()) != nil {
		return
	}
	info, err := c.clone.stage.Stat(b.Name())
	if err == nil && info.Ino == b.Ino {
		c.held = append(c.held, held{b, info.Size})
		return
	}
	_ = c.clone.stage.Unlink(b.Name())
}
