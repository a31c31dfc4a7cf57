package main

import (
	"fmt"
	"slices"
	"strings"

	"agentfs.internal/tool/record"
	"agentfs.internal/tool/size"
)

var titles = map[string]string{
	"added": "Added:", "deleted": "Deleted:", "modified": "Modified:",
	"renamed": "Renamed:", "type": "Changed:", "metadata": "Changed:",
}

// changeLine is a change as people read it: Modified: src/app.ts (+50 -10).
func changeLine(c record.Change) string {
	path := changedPath(c.Path, c.PathBytes, c.Type)
	if c.Kind == "renamed" {
		path = changedPath(c.From, c.FromBytes, c.Type) + " -> " + path
	}
	line := fmt.Sprintf("%-9s %s", titles[c.Kind], path)
	if how := howChanged(c); len(how) > 0 {
		line += " (" + strings.Join(how, ", ") + ")"
	}
	return line
}

func changedPath(path string, exact []byte, kind string) string {
	if len(exact) > 0 {
		path = string(exact)
	}
	path = visible(path)
	if kind == "dir" {
		path += "/"
	}
	return path
}

// howChanged says in what something differs that is on both sides.
func howChanged(c record.Change) []string {
	if c.Kind == "added" || c.Kind == "deleted" {
		return nil
	}
	var how []string
	if c.Kind == "type" {
		how = append(how, c.OldType+" -> "+c.Type)
	}
	if slices.Contains(c.What, "content") {
		how = append(how, contentChange(c))
	}
	for _, what := range c.What {
		switch what {
		case "content":
		case "mode":
			how = append(how, "mode "+c.OldMode+" -> "+c.NewMode)
		default:
			how = append(how, what)
		}
	}
	return how
}

func contentChange(c record.Change) string {
	if c.LinesAdded != nil && c.LinesDeleted != nil {
		return fmt.Sprintf("+%d -%d", *c.LinesAdded, *c.LinesDeleted)
	}
	before, after := size.Format(c.OldSize), size.Format(c.NewSize)
	if before == after {
		return "binary"
	}
	return fmt.Sprintf("binary %s -> %s", before, after)
}
