// Package claims keeps what a workload was told by agentfs, and when: each claim is a
// promise that a crash must not break. Who replays a crash compares what is left with
// the claims made until then.
//
// Time is counted by whoever records: the number of operations that had been logged.
package claims

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
)

// Kind is what is claimed.
type Kind string

// The kinds of claims.
const (
	Fsynced    Kind = "fsynced"    // the file Path has the content Sum, or is not there where that is ""; until the next one for Path
	Checkpoint Kind = "checkpoint" // Version is complete
	Durable    Kind = "durable"    // Version outlives a power cut
	Restored   Kind = "restored"   // the store's files are those of Version, and outlive a power cut
	Forked     Kind = "forked"     // Store was made of Version of From
	Deleted    Kind = "deleted"    // Version is gone, or all of Store where it is 0
)

// Claim is one thing that was acknowledged.
type Claim struct {
	Begun   int64  `json:"begun"`              // operations that had been logged when it was asked for
	At      int64  `json:"at"`                 // and when it was acknowledged
	Kind    Kind   `json:"kind"`               //
	Store   string `json:"store"`              // the store's name
	Path    string `json:"path,omitempty"`     // below the mountpoint
	Sum     string `json:"sum,omitempty"`      // SHA-256 of the file, in hex
	Version int64  `json:"version"`            // 4 for v4
	Tree    string `json:"tree,omitempty"`     // checkpoint: hash of its tree, without times and with them, with a dot between
	Alone   bool   `json:"alone,omitempty"`    // checkpoint: nobody was writing
	InPlace bool   `json:"in_place,omitempty"` // restored: file by file, so that a part may be
	From    string `json:"from,omitempty"`     // forked: the store that Version is of
}

// HasTree tells whether a checkpoint's tree with that hash is the one that it was made
// with. Where others were writing, times do not count: a file that was being truncated
// is so to the end by each mount, which gives it the time of that moment.
func (c Claim) HasTree(hash string) bool {
	mine, _, _ := strings.Cut(c.Tree, ".")
	other, _, _ := strings.Cut(hash, ".")
	return hash == c.Tree || !c.Alone && other == mine
}

// Log is a file of claims, one a line.
type Log struct{ file *os.File }

// Create makes the file.
func Create(path string) (*Log, error) {
	f, err := os.Create(path)
	return &Log{f}, err
}

// Add appends a claim.
func (l *Log) Add(c Claim) error { return json.NewEncoder(l.file).Encode(c) }

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// Read gives all claims of a file, in the order in which they were made.
func Read(path string) ([]Claim, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Claim
	for dec := json.NewDecoder(f); ; {
		var c Claim
		if err := dec.Decode(&c); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
}

// At parts the claims at a crash after cut operations: those made before, and those
// that had been asked for and may hold or not.
func At(list []Claim, cut int64) (before, underway []Claim) {
	for _, c := range list {
		switch {
		case c.At <= cut:
			before = append(before, c)
		case c.Begun <= cut:
			underway = append(underway, c)
		}
	}
	return before, underway
}
