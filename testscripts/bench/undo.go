package main

import (
	"errors"
	"fmt"
)

// undo remembers what was made, so that it can be taken down again in the
// opposite order, whatever happened in between.
type undo struct{ steps []undoStep }

type undoStep struct {
	what string
	do   func() error
}

func (u *undo) push(what string, do func() error) {
	u.steps = append(u.steps, undoStep{what, do})
}

// mark is a height to go back to.
func (u *undo) mark() int { return len(u.steps) }

// to takes down what was made since the mark. What fails does not stop the rest.
func (u *undo) to(mark int) error {
	var errs []error
	for len(u.steps) > mark {
		last := u.steps[len(u.steps)-1]
		u.steps = u.steps[:len(u.steps)-1]
		if err := last.do(); err != nil {
			errs = append(errs, fmt.Errorf("left behind: %s: %w", last.what, err))
		}
	}
	return errors.Join(errs...)
}
