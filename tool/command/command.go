// Package command builds the command tree of every tool, on ff's ffcli.
//
// It adds what ffcli lacks and our users type: flags anywhere, also after
// positional arguments and before or after a verb; the nearest verb or flag for
// a misspelt one; counted arguments; one place where an error is printed and
// becomes an exit status.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/peterbourgon/ff/v3"
	"github.com/peterbourgon/ff/v3/ffcli"

	"agentfs.internal/tool/fault"
	"agentfs.internal/tool/status"
)

// Version is what --version prints; the Makefile sets it.
var Version = "devel"

// IO is what a verb talks to.
type IO struct {
	In  io.Reader // records
	Out io.Writer // records, and for agentfs what people read
	Err io.Writer // talk
}

// Verb is one command of a tool, or the tool itself.
type Verb struct {
	Name  string                                                   // one word
	Args  string                                                   // the positional arguments as in a synopsis: "NAME", "[MESSAGE]", "-- CMD [ARG…]"
	Short string                                                   // half a line, for the list of verbs
	Long  string                                                   // the manual: what it does, record in, record out
	Min   int                                                      // fewest positional arguments
	Max   int                                                      // most positional arguments, -1 for any number
	Flags func(fs *flag.FlagSet)                                   // registers the verb's own flags; may be nil
	Env   string                                                   // prefix of environment variables that stand in for these flags; root only
	Verbs []*Verb                                                  // verbs below this one
	Run   func(ctx context.Context, stdio IO, args []string) error // nil where only verbs below do something
	// Split leaves a "--" that was typed among args, for verbs whose arguments before
	// and behind it mean different things.
	Split bool
	// Hidden keeps an internal verb out of the list.
	Hidden bool
	// Own says that the flags are for the verb alone, not for the verbs below it.
	Own bool
}

// Main runs the tool and exits with its status.
func Main(root *Verb) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, root, os.Args[1:], IO{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// Run parses args, runs the verb that they name and returns the exit status.
// An error is printed once, here: "tool: what: why", then "hint: what to do".
func Run(ctx context.Context, root *Verb, args []string, stdio IO) int {
	err := run(ctx, root, args, stdio)
	if err == nil {
		return status.OK
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintf(stdio.Err, "%s: %s\n", root.Name, msg)
	}
	if hint := status.HintOf(err); hint != "" {
		fmt.Fprintf(stdio.Err, "hint: %s\n", hint)
	}
	return status.Of(err)
}

// errSilent ends a run whose output is complete.
var errSilent = errors.New("done")

func run(ctx context.Context, root *Verb, args []string, stdio IO) error {
	t := &tree{stdio: stdio}
	top := t.build(root, nil)
	sorted, err := t.sort(top, args)
	if errors.Is(err, errSilent) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := top.ff.Parse(sorted); err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // without ff's "error parsing commandline arguments"
		}
		return usage(top, "%w", err)
	}
	return top.ff.Run(ctx)
}

// tree is the command tree while arguments are being read.
type tree struct{ stdio IO }

// node is a verb with its flags, its parent and its ffcli command.
type node struct {
	*Verb
	parent *node
	below  []*node
	ff     *ffcli.Command
}

func (t *tree) build(v *Verb, parent *node) *node {
	n := &node{Verb: v, parent: parent}
	fs := flag.NewFlagSet(v.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are printed once, by Run
	if v.Flags != nil {
		v.Flags(fs)
	}
	n.ff = &ffcli.Command{Name: v.Name, FlagSet: fs, Exec: func(ctx context.Context, args []string) error {
		return n.exec(ctx, t.stdio, args)
	}}
	if v.Env != "" {
		n.ff.Options = []ff.Option{ff.WithEnvVarPrefix(v.Env)}
	}
	for _, sub := range v.Verbs {
		c := t.build(sub, n)
		n.below = append(n.below, c)
		n.ff.Subcommands = append(n.ff.Subcommands, c.ff)
	}
	return n
}

func (n *node) exec(ctx context.Context, stdio IO, args []string) error {
	switch {
	case n.Verb.Run == nil:
		return usage(n, "%s: needs a verb", n.path())
	case len(args) < n.Min:
		return usage(n, "%s: needs %s", n.path(), n.Args)
	case n.Max >= 0 && len(args) > n.Max:
		return usage(n, "%s: unexpected argument %q", n.path(), args[n.Max])
	}
	return n.Verb.Run(ctx, stdio, args)
}

// sort brings the arguments into the order that ffcli wants: each verb followed
// by its own flags, then the positional arguments behind "--".
func (t *tree) sort(top *node, args []string) ([]string, error) {
	at := top
	flags := map[*node][]string{}
	var rest []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			if !at.Split {
				i++
			}
			rest = append(rest, args[i:]...)
			i = len(args)
		case len(arg) > 1 && arg[0] == '-':
			owner, words, err := t.flag(at, top, args[i:])
			if err != nil {
				return nil, err
			}
			flags[owner] = append(flags[owner], words...)
			i += len(words) - 1
		case len(rest) == 0 && len(at.below) > 0:
			next, err := at.verb(arg)
			if err != nil {
				return nil, err
			}
			if next == nil {
				rest = append(rest, arg)
			} else {
				at = next
			}
		default:
			rest = append(rest, arg)
		}
	}
	out := append([]string{"--"}, rest...)
	for n := at; n != nil; n = n.parent {
		if n != at && n.Own && len(flags[n]) > 0 {
			return nil, usage(at, "%s: flag %s belongs to %s alone", at.path(), flags[n][0], n.path())
		}
		out = append(flags[n], out...)
		if n.parent != nil {
			out = append([]string{n.Name}, out...)
		}
	}
	return out, nil
}

// flag finds whose flag args[0] is, from the verb up to the root, and how many
// words it takes.
func (t *tree) flag(at, top *node, args []string) (*node, []string, error) {
	name, _, joined := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
	switch name {
	case "h", "help":
		return nil, nil, t.print(at.help())
	case "fault-points":
		return nil, nil, t.print(strings.Join(append(fault.Names(), ""), "\n"))
	}
	for n := at; n != nil; n = n.above() {
		f := n.ff.FlagSet.Lookup(name)
		if f == nil {
			continue
		}
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); joined || ok && b.IsBoolFlag() {
			return n, args[:1], nil
		}
		if len(args) < 2 {
			return nil, nil, usage(at, "%s: %s needs a value", at.path(), args[0])
		}
		return n, args[:2], nil
	}
	if name == "version" { // unless the verb has a flag of that name
		return nil, nil, t.print(fmt.Sprintf("%s %s\n", top.Name, Version))
	}
	err := usage(at, "%s: unknown flag %s", at.path(), args[0])
	if near := Nearest(name, at.flagNames()); near != "" {
		return nil, nil, err.WithHint("did you mean --%s?", near)
	}
	return nil, nil, err
}

// print writes s to standard output and ends the run.
func (t *tree) print(s string) error {
	if _, err := io.WriteString(t.stdio.Out, s); err != nil {
		return err
	}
	return errSilent
}

// verb finds the verb named word below n; nil means that word is a positional
// argument of n itself.
func (n *node) verb(word string) (*node, error) {
	var names []string
	for _, c := range n.below {
		if c.Name == word {
			return c, nil
		}
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	if n.Verb.Run != nil && n.Max != 0 {
		return nil, nil
	}
	err := usage(n, "%s: unknown verb %q", n.path(), word)
	if near := Nearest(word, names); near != "" {
		return nil, err.WithHint("did you mean '%s %s'?", n.path(), near)
	}
	return nil, err
}

func (n *node) flagNames() []string {
	var names []string
	for ; n != nil; n = n.above() {
		n.ff.FlagSet.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	}
	return names
}

// above is the next verb up whose flags are for this one too.
func (n *node) above() *node {
	for n = n.parent; n != nil && n.Own; n = n.parent {
	}
	return n
}

// path is the verb as it is typed: "agentfs checkpoint create".
func (n *node) path() string {
	if n.parent == nil {
		return n.Name
	}
	return n.parent.path() + " " + n.Name
}

// usage makes a usage error. The tool's name, which Run prints, is cut from the
// message's front.
func usage(n *node, format string, args ...any) *status.Error {
	top := n
	for top.parent != nil {
		top = top.parent
	}
	e := status.Errorf(status.Usage, format, args...)
	msg := strings.TrimPrefix(strings.TrimPrefix(e.Err.Error(), top.Name+": "), top.Name+" ")
	return status.Errorf(status.Usage, "%s", msg).WithHint("%s -h", n.path())
}

// Self gives the path of the sibling binary of a name: the one beside this
// binary where there is one, else the name itself, for the PATH.
func Self(name string) string {
	if exe, err := os.Executable(); err == nil {
		if p := filepath.Join(filepath.Dir(exe), name); isFile(p) {
			return p
		}
	}
	return name
}

func isFile(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.Mode().IsRegular()
}
