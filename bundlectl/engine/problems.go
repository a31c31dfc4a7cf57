package engine

import (
	"agentfs.internal/bundlectl/bundle"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/status"
)

// MachineProblem says what a machine lacks.
func MachineProblem(err error, hint string) Problem {
	return Problem{Problem: record.Problem{Kind: ProblemMachine, Text: err.Error()}, Hint: hint}
}

// BundleProblems looks at a bundle's own files.
func BundleProblems(path string, repair bool) []Problem {
	problem := func(err error, repaired bool) Problem {
		return Problem{Problem: record.Problem{Kind: ProblemBundle, Path: path, Text: err.Error()}, Repaired: repaired, Hint: status.HintOf(err)}
	}
	b, err := bundle.Open(path)
	if err != nil {
		return []Problem{problem(err, false)}
	}
	var list []Problem
	repaired, left := b.Check(repair)
	for _, err := range repaired {
		list = append(list, problem(err, true))
	}
	for _, err := range left {
		list = append(list, problem(err, false))
	}
	return list
}
