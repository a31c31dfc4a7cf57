package bands

import (
	"context"
	"slices"

	"agentfs.internal/bandclone/internal/dir"
	"agentfs.internal/tool/fault"
)

var oneCloned = fault.Define("bandclone.clone.partly") // the first band, of all

// Method is a way to clone.
type Method string

// The methods, in the words of the record.
const (
	Link      Method = "link"      // a hard link to each sealed band
	Clonefile Method = "clonefile" // the whole directory in one call of the system
	Reflink   Method = "reflink"   // a file of its own that shares the extents of the band
	Copy      Method = "copy"      // the data of each band
)

// Cloner clones bands from one directory to another, by the first of the
// methods that the filesystem has for this band.
type Cloner struct {
	From, To *dir.Dir
	Methods  []Method
	Mode     uint32 // of clones that are files of their own
	made     map[Method]int
	own      []uint64 // numbers of the clones that are no links
}

// Band clones one band.
func (c *Cloner) Band(num uint64) error {
	for i, m := range c.Methods {
		err := c.by(m, num)
		if err == nil {
			c.count(m, num)
			return nil
		}
		if !dir.Cannot(err) || i == len(c.Methods)-1 {
			return err
		}
	}
	return nil
}

func (c *Cloner) by(m Method, num uint64) error {
	name := Name(num)
	switch m {
	case Reflink:
		return c.From.Reflink(c.To, name, c.Mode)
	case Copy:
		return c.From.Create(c.To, name, c.Mode, copyData)
	}
	if err := c.From.Chmod(name, SealedMode); err != nil {
		return err
	}
	return c.From.Link(c.To, name)
}

// Held counts a band that was linked before.
func (c *Cloner) Held(num uint64) { c.count(Link, num) }

func (c *Cloner) count(m Method, num uint64) {
	if c.made == nil {
		c.made = map[Method]int{}
	}
	c.made[m]++
	if m != Link {
		c.own = append(c.own, num)
	}
}

// All clones all bands.
func (c *Cloner) All(ctx context.Context, set *Set) error {
	for i, b := range set.Bands {
		if i%32 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.Band(b.Num); err != nil {
			return err
		}
		if err := oneCloned.Reach(); err != nil {
			return err
		}
	}
	return nil
}

// Method is how most bands were cloned.
func (c *Cloner) Method() Method {
	most := c.Methods[0]
	for _, m := range c.Methods {
		if c.made[m] > c.made[most] {
			most = m
		}
	}
	return most
}

// Linked tells whether the clone of a band is the band itself by another name,
// so that its inode number tells whether it has changed.
func (c *Cloner) Linked(num uint64) bool {
	_, own := slices.BinarySearch(c.own, num)
	return !own && !c.Whole()
}

// AllLinks tells whether no clone is a file of its own.
func (c *Cloner) AllLinks() bool { return len(c.own) == 0 && !c.Whole() }

// Whole tells whether the directory is cloned as one, not band by band.
func (c *Cloner) Whole() bool { return c.Methods[0] == Clonefile }
