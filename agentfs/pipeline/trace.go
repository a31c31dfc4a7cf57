package pipeline

import (
	"fmt"
	"strings"
	"time"
)

// trace writes the line of one stage: its time from start to end, then the
// command line. Without the left column the lines of a pipeline can be pasted
// into a shell.
func (r *Runner) trace(p *proc, input []byte, rest []*proc) {
	if r.Trace == nil {
		return
	}
	if p == nil {
		r.traceInput(input)
		return
	}
	more := ""
	if len(rest) > 1 {
		more = " |"
	}
	ms := float64(time.Since(p.began).Microseconds()) / 1000
	fmt.Fprintf(r.Trace, "trace: %8.1f ms  %s%s\n", ms, CommandLine(p.cmd.Args), more)
}

// longest is how many records are shown that a pipeline is fed.
const longest = 5

func (r *Runner) traceInput(input []byte) {
	if len(input) == 0 {
		return
	}
	lines := strings.Split(strings.TrimSuffix(string(input), "\n"), "\n")
	if len(lines) > longest {
		fmt.Fprintf(r.Trace, "trace: %8s     … %d records … |\n", "", len(lines))
		return
	}
	fmt.Fprintf(r.Trace, "trace: %8s     printf '%%s\\n' %s |\n", "", CommandLine(lines))
}

// CommandLine writes arguments as a shell reads them.
func CommandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = Quote(a)
	}
	return strings.Join(quoted, " ")
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"

// Quote writes one argument as a shell reads it.
func Quote(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
