package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
)

// paged calls show with standard output or, where that is a terminal and there is
// something to read, with a pager in front of it. Filter, where it is not nil,
// dresses the lines for the terminal.
func (a *app) paged(filter func(io.Reader, io.Writer) error, show func(w io.Writer) error) error {
	if !isTerminal(a.io.Out) {
		return show(a.io.Out)
	}
	pager := a.pager()
	if pager == nil {
		return filtered(filter, a.io.Out, show)
	}
	in, err := pager.StdinPipe()
	if err != nil {
		return err
	}
	if err := pager.Start(); err != nil {
		return filtered(filter, a.io.Out, show)
	}
	out := &page{WriteCloser: in}
	err = filtered(filter, out, show)
	_ = in.Close()
	_ = pager.Wait()
	if out.left {
		return nil // who leaves the pager has seen enough
	}
	return err
}

// page is a terminal's text on its way through a pager.
type page struct {
	io.WriteCloser
	left bool // the pager was left
}

func (p *page) Write(b []byte) (int, error) {
	n, err := p.WriteCloser.Write(b)
	p.left = p.left || err != nil
	return n, err
}

// pager gives the command that pages, as git does: what PAGER says, else less, which
// ends by itself where the text is short, else nothing.
func (a *app) pager() *exec.Cmd {
	words := os.Getenv("PAGER")
	if words == "" {
		words = "less"
	}
	if words == "cat" {
		return nil
	}
	if _, err := exec.LookPath("less"); err != nil && words == "less" {
		return nil
	}
	cmd := exec.Command("sh", "-c", words)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	return cmd
}

// filtered lets what show writes pass through filter on its way to w.
func filtered(filter func(io.Reader, io.Writer) error, w io.Writer, show func(io.Writer) error) error {
	if filter == nil {
		return show(w)
	}
	r, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := filter(r, w)
		_ = r.CloseWithError(err)
		done <- err
	}()
	err := show(in)
	_ = in.Close()
	if filterErr := <-done; err == nil {
		err = filterErr
	}
	return err
}

const (
	red, green, yellow, cyan, bold = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[1m"
	dim, plain                     = "\x1b[2m", "\x1b[m"
)

// colourOf is a colour for each kind of change.
var colourOf = map[string]string{"added": green, "deleted": red, "modified": yellow, "renamed": cyan, "type": yellow, "metadata": yellow}

// painter gives a function that puts text in a colour, if w is a terminal or its
// pager and the user has not asked for none.
func painter(w io.Writer) func(colour, text string) string {
	_, pages := w.(*page)
	if !pages && !isTerminal(w) || os.Getenv("NO_COLOR") != "" {
		return func(_, text string) string { return text }
	}
	return func(colour, text string) string {
		if colour == "" {
			return text
		}
		return colour + text + plain
	}
}

// colourPatch puts a patch in git's colours, and only names the binary files in it:
// their bytes are for machines.
func colourPatch(r io.Reader, w io.Writer) error {
	paint, in := painter(w), bufio.NewReaderSize(r, 64<<10)
	binary := false
	for {
		line, err := in.ReadBytes('\n')
		text := string(bytes.TrimSuffix(line, []byte("\n")))
		switch {
		case binary && text != "" && bytes.HasPrefix(line, []byte("diff --git ")):
			binary = false
		case text == "GIT binary patch":
			binary = true
			text = "Binary file"
		case binary:
			text = ""
		}
		if len(line) > 0 && (!binary || text != "") {
			if _, err := io.WriteString(w, paint(patchColour(text), text)+"\n"); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// patchColour is the colour of a line of a patch.
func patchColour(line string) string {
	for _, p := range []struct{ prefix, colour string }{
		{"diff --git ", bold}, {"--- ", bold}, {"+++ ", bold}, {"@@ ", cyan}, {"+", green}, {"-", red},
		{"new file", bold}, {"deleted file", bold}, {"old mode", bold}, {"new mode", bold}, {"rename ", bold}, {"index ", bold},
	} {
		if len(line) >= len(p.prefix) && line[:len(p.prefix)] == p.prefix {
			return p.colour
		}
	}
	return ""
}
