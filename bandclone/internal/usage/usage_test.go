package usage

import (
	"slices"
	"testing"
)

// TestSweep counts groups 0, 1 and 2 on one disk.
func TestSweep(t *testing.T) {
	c := New()
	c.groups = make([]Group, 3)
	c.chosen = map[int]bool{0: true, 1: true}
	only := func(g int) int { return c.owners.with(0, g) }
	both := c.owners.with(only(0), 1)
	c.sweep([]interval{
		{from: 0, to: 100, owner: only(0)},                   // 0 alone
		{from: 100, to: 200, owner: only(0), shared: true},   // with somebody unknown
		{from: 200, to: 300, owner: only(0), shared: true},   // 250–300 with 1
		{from: 250, to: 350, owner: only(1), shared: true},   // 300–350 with somebody unknown
		{from: 400, to: 500, owner: both},                    // one file in 0 and 1
		{from: 600, to: 700, owner: only(2), shared: true},   // two files of 2
		{from: 600, to: 700, owner: only(2), shared: true},   //
		{from: 700, to: 710, owner: only(2), outside: true},  // a name elsewhere
		{from: 1000, to: 1010, owner: only(1)},               // 1 alone
		{from: 1002, to: 1004, owner: only(2), shared: true}, // within the last
	})
	want := []Group{
		{Logical: 100 + 100 + 100 + 100, Exclusive: 100},
		{Logical: 100 + 100 + 10, Exclusive: 8},
		{Logical: 100 + 10 + 2, Exclusive: 100},
	}
	if !slices.Equal(c.groups, want) {
		t.Errorf("have %+v\nwant %+v", c.groups, want)
	}
	// What 0 and 1 share comes back when both go; 2 is within one place of 1.
	together := Group{Logical: 100 + 100 + 150 + 100 + 10, Exclusive: 100 + 50 + 100 + 8}
	if c.Union() != together {
		t.Errorf("together %+v, want %+v", c.Union(), together)
	}
}

func TestOwners(t *testing.T) {
	o := newOwners()
	a := o.with(o.with(0, 1), 2)
	b := o.with(o.with(o.with(0, 1), 1), 2)
	if a != b || !slices.Equal(o.groups(a), []int{2, 1}) || len(o.groups(0)) != 0 {
		t.Errorf("sets %d and %d: %v", a, b, o.sets)
	}
	if c := o.with(o.with(0, 1), 3); c == a || !slices.Equal(o.groups(a), []int{2, 1}) {
		t.Errorf("a set was changed: %v", o.sets)
	}
}
