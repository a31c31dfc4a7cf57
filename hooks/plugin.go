package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
)

// plugin is OpenCode's way: a program in its directory of plugins, all of it ours.
type plugin struct{}

//go:embed opencode.js
var pluginText []byte

var (
	pluginMark    = []byte("// Written by 'agentfs-hook install opencode'")
	pluginCommand = []byte("const command = ") // the line that tells our path
)

func (plugin) add(text []byte, exe string, _ bool) ([]byte, error) {
	if len(text) > 0 {
		return nil, errors.New("was not written by agentfs-hook")
	}
	path, err := json.Marshal(exe)
	line := append(slices.Clone(pluginCommand), `"agentfs-hook"`...)
	return bytes.Replace(pluginText, line, append(slices.Clone(pluginCommand), path...), 1), err
}

func (plugin) remove(text []byte) ([]byte, error) {
	if bytes.HasPrefix(text, pluginMark) {
		return nil, nil
	}
	return text, nil
}

func (plugin) bare(text []byte) bool { return len(text) == 0 }

func (plugin) find(text []byte) ([]found, error) {
	if !bytes.HasPrefix(text, pluginMark) {
		return nil, nil
	}
	var exe string
	_, line, _ := bytes.Cut(text, append([]byte("\n"), pluginCommand...))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	_ = json.Unmarshal(line, &exe)
	var all []found
	for _, event := range []string{"chat.message", "tool.execute.before", "tool.execute.after", "session.idle"} {
		all = append(all, found{event, exe, string(text)})
	}
	return all, nil
}
