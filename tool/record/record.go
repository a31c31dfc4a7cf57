// Package record holds the types that cross every pipe between the tools: read
// it first. A record is one JSON object; each tool adds or updates its own key
// and passes all others on unchanged, those that it does not know included.
// docs/records.md is the reference for people.
package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"agentfs.internal/tool/status"
)

// Store is a workspace: one bundle, one mountpoint, many checkpoints. Key
// "store", written by cpdb.
type Store struct {
	ID          string     `json:"id"`                    // random, never reused
	Name        string     `json:"name"`                  // what people type; unique
	Status      string     `json:"status"`                // one of the Store… constants
	BundlePath  string     `json:"bundle_path"`           // absolute path of the .sparsebundle directory
	MountPath   string     `json:"mount_path"`            // absolute path where it is, or will be, mounted
	SizeBytes   int64      `json:"size_bytes"`            // size of the image, not what it uses
	CreatedAt   time.Time  `json:"created_at"`            // UTC
	MountedAt   *time.Time `json:"mounted_at,omitempty"`  // when it was last attached; absent after a detach
	NextVersion int64      `json:"next_version"`          // the number that the next checkpoint gets
	Checkpoints int64      `json:"checkpoints"`           // how many are ready
	Latest      int64      `json:"latest"`                // the newest ready version, 0 for none
	ForkedFrom  string     `json:"forked_from,omitempty"` // "myapp v3": the checkpoint that it began as; absent where it began empty
	Base        int64      `json:"base"`                  // the version that the present came from: the latest, or the one restored since; 0 for none
}

// The states of a store. All but ready are leftovers of a command that is
// running or has died; the next command that takes the store's lock ends them.
const (
	StoreCreating  = "creating"  // row made, bundle perhaps not
	StoreReady     = "ready"     //
	StoreRestoring = "restoring" // between detach and the end of a restore
	StoreApplying  = "applying"  // a restore in place is changing the files
	StoreDeleting  = "deleting"  // files perhaps gone, row not yet
)

// Checkpoint is a saved moment of a store. Key "checkpoint", written by cpdb.
type Checkpoint struct {
	ID           int64     `json:"id"`            // row number
	StoreID      string    `json:"store_id"`      // the store's id
	Version      int64     `json:"version"`       // 4 for v4; counts up per store, never reused
	Parent       int64     `json:"parent"`        // the version that it came from, see Store.Base; 0 for none in this store
	ParentID     int64     `json:"parent_id"`     // its row; of another store for the first one of a fork; 0 for none
	Dir          string    `json:"dir"`           // absolute path of the directory of bands
	Message      string    `json:"message"`       // free text, may be empty
	Status       string    `json:"status"`        // one of the Checkpoint… constants
	CreatedAt    time.Time `json:"created_at"`    // UTC
	Method       string    `json:"method"`        // how the bands were cloned, see Clone
	Bands        int64     `json:"bands"`         // bands in it
	Bytes        int64     `json:"bytes"`         // the sum of their lengths
	ChangedBands int64     `json:"changed_bands"` // of them, not shared with the one made before
	DurationMS   float64   `json:"duration_ms"`   // from begin to commit
	Pinned       bool      `json:"pinned"`        // never pruned

	DurableAt *time.Time `json:"durable_at,omitempty"` // since when it outlives a power cut; absent until then
	BootID    string     `json:"boot_id,omitempty"`    // the machine's boot in which it was made; absent once it is durable

	Causality
	Index        string `json:"index"`         // whether its changes are known, one of the Index… constants
	Changes      int64  `json:"changes"`       // indexed: paths that differ from the parent
	LinesAdded   int64  `json:"lines_added"`   // indexed: in all of them together
	LinesDeleted int64  `json:"lines_deleted"` //
}

// Causality says why there is a checkpoint: what its changes since the parent were
// made by or, with Before, what was about to be done when it was made. All of it is
// as the caller told it.
type Causality struct {
	Agent   string            `json:"agent,omitempty"`   // "claude-code"; empty for a person
	Action  string            `json:"action,omitempty"`  // a tool, "Edit", or an event, "Stop"
	Session string            `json:"session,omitempty"` // the agent's name for its session
	Prompt  string            `json:"prompt,omitempty"`  // what the person had asked for
	Before  bool              `json:"before,omitempty"`  // made before the action: what changed was not its doing
	Meta    map[string]string `json:"meta,omitempty"`    // whatever else the caller wants to keep
}

// Whether the changes of a checkpoint are known.
const (
	IndexNone = ""     // not looked at yet
	IndexDone = "done" // the list is complete
	IndexLost = "lost" // it cannot be made any more, or could not be made
)

// The states of a checkpoint.
const (
	CheckpointPending  = "pending"  // bands perhaps incomplete; swept if its maker died
	CheckpointReady    = "ready"    // complete
	CheckpointDeleting = "deleting" // bands perhaps partly gone; swept
	CheckpointPruned   = "pruned"   // bands gone, its changes and why they were made are still known
)

// Files that stand beside what they tell of, so that all of it can be known without
// the database.
const (
	StoreFile      = "store.json"  // in a store's directory: one record with the key "store"; written by cpdb
	CheckpointFile = "record.json" // in a checkpoint's: one record with "store" and "checkpoint", as it was when it was made; pins are brought up to date by cpdb
	SumsFile       = "SHA256SUMS"  // in a checkpoint's: the sum of each band, as sha256sum(1) writes and checks it
)

// Damage is a band, or a file of its own, of a checkpoint that is not as it was made.
// Key "damage", written by bandclone verify.
type Damage struct {
	Dir        string   `json:"dir"`                  // the checkpoint's directory
	Name       string   `json:"name"`                 // the band's file name, or CheckpointFile or SumsFile
	Kind       string   `json:"kind"`                 // one of the Damage… constants
	Why        string   `json:"why,omitempty"`        // more of it, for people
	Sum        string   `json:"sum,omitempty"`        // of a band: the SHA-256, in hex, that it should have; absent where that is not known
	Sound      string   `json:"sound,omitempty"`      // a file with the content that it should have, where there is one
	Files      []string `json:"files,omitempty"`      // paths in the checkpoint's tree that lie in it; written by bundlectl files, as are the next two
	Structures bool     `json:"structures,omitempty"` // what the filesystem keeps for itself lies in it: any file may be hit
	Whole      bool     `json:"whole,omitempty"`      // the filesystem cannot be mounted: all of it is hit
}

// The kinds of damage.
const (
	DamageMissing    = "missing"    // the checkpoint was made with it
	DamageShort      = "short"      // it is shorter than it was
	DamageChanged    = "changed"    // its content is another: bits have flipped, or somebody has written to it
	DamageExchanged  = "exchanged"  // its content is that of another band of the checkpoint, or of this one in another checkpoint
	DamageForeign    = "foreign"    // the checkpoint was made without it
	DamageUnreadable = "unreadable" // it cannot be read
)

// Problem is one thing that is not as it should be. Key "problem", written by cpdb check
// and bundlectl check.
type Problem struct {
	Kind    string `json:"kind"`    // what kind of problem, in the words of who found it
	Store   string `json:"store"`   // the store's name, empty where it is about none
	Version int64  `json:"version"` // of the checkpoint, 0 where it is about none
	Path    string `json:"path"`    // of the file or directory that it is about, may be empty
	Text    string `json:"text"`    // what is wrong, for people
}

// Clone is what bandclone made. Key "clone".
type Clone struct {
	Method       string  `json:"method"`        // link, clonefile, reflink or copy
	Bands        int64   `json:"bands"`         // bands in the clone
	Bytes        int64   `json:"bytes"`         // the sum of their lengths
	ChangedBands int64   `json:"changed_bands"` // bands that differ from the parent's, all of them if there is none
	DurationMS   float64 `json:"duration_ms"`
}

// Image is a bundle as bundlectl sees it. Key "image".
type Image struct {
	BundlePath string `json:"bundle_path"`
	SizeBytes  int64  `json:"size_bytes"`           // of the image
	BandSize   int64  `json:"band_size"`            // bytes
	Bands      int64  `json:"bands,omitempty"`      // that exist; only by create, info, compact and resize
	Bytes      int64  `json:"bytes,omitempty"`      // allocated by them on the host; as bands
	Attached   bool   `json:"attached"`             //
	Device     string `json:"device,omitempty"`     // /dev/loop3, /dev/disk5s1; only while attached
	MountPath  string `json:"mount_path,omitempty"` // only while mounted
	ServerPID  int    `json:"server_pid,omitempty"` // Linux: the band server

	StandbyPID       int       `json:"standby_pid,omitempty"`       // Linux: the process that takes the server's place if that dies
	ServerReplaced   int       `json:"server_replaced,omitempty"`   // Linux: how often that has happened since the attach
	ServerReplacedAt time.Time `json:"server_replaced_at,omitzero"` // Linux: the last time
}

// Change is one path that differs between two directory trees, A before and B
// after. Key "change", written by treediff.
type Change struct {
	Path         string   `json:"path"`                    // relative, with slashes, "." for the root; bytes that are not UTF-8 as U+FFFD
	PathBytes    []byte   `json:"path_bytes,omitempty"`    // the exact path where it is not UTF-8
	Kind         string   `json:"kind"`                    // one of the Change… constants
	From         string   `json:"from,omitempty"`          // renamed: the path in A, as path
	FromBytes    []byte   `json:"from_bytes,omitempty"`    // as path_bytes
	Type         string   `json:"type"`                    // file, dir, symlink, fifo, socket, char or block; in B, of what was deleted in A
	OldType      string   `json:"old_type,omitempty"`      // kind type: what it was in A
	What         []string `json:"what,omitempty"`          // what differs of something in both: content, target, mode, owner, xattrs, times, links, device
	OldMode      string   `json:"old_mode,omitempty"`      // permissions in A in octal, "0644", "4755"; absent where it was not there
	NewMode      string   `json:"new_mode,omitempty"`      // the same in B
	OldSize      int64    `json:"old_size,omitempty"`      // bytes in A, of regular files; absent is 0
	NewSize      int64    `json:"new_size,omitempty"`      // the same in B
	Binary       bool     `json:"binary,omitempty"`        // a file whose content differs and is no text, or too long to be counted
	LinesAdded   *int     `json:"lines_added,omitempty"`   // text files whose content differs: lines in B that A lacks
	LinesDeleted *int     `json:"lines_deleted,omitempty"` // and lines in A that B lacks
	Hunks        []Hunk   `json:"hunks,omitempty"`         // kind modified, of text, where asked for: which lines, in order
}

// Hunk says that the lines of A from OldStart on, OldLines of them, became those of B
// from NewStart on, NewLines of them. Lines count from 0. As JSON: [3,1,3,2].
type Hunk struct{ OldStart, OldLines, NewStart, NewLines int }

// MarshalJSON writes the four numbers as an array.
func (h Hunk) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]int{h.OldStart, h.OldLines, h.NewStart, h.NewLines})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (h *Hunk) UnmarshalJSON(data []byte) error {
	var n []int
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	if len(n) != 4 || slices.Min(n) < 0 {
		return fmt.Errorf("bad hunk %s: want four numbers from 0 on", data)
	}
	*h = Hunk{n[0], n[1], n[2], n[3]}
	return nil
}

// The kinds of a change.
const (
	ChangeAdded    = "added"    // only in B
	ChangeDeleted  = "deleted"  // only in A
	ChangeModified = "modified" // content, target or device differs, perhaps metadata too
	ChangeRenamed  = "renamed"  // a file with the same content under another path; metadata may differ
	ChangeType     = "type"     // a file became a symbolic link, or the like
	ChangeMetadata = "metadata" // nothing but mode, owner, xattrs, times or links differ
)

// Applied is what treediff apply did to make B like A. Key "applied".
type Applied struct {
	Added      int64   `json:"added"`       // paths that B lacked
	Modified   int64   `json:"modified"`    // paths whose content, target or type was another
	Deleted    int64   `json:"deleted"`     // paths that A lacks
	Metadata   int64   `json:"metadata"`    // paths of which only metadata was another
	Bytes      int64   `json:"bytes"`       // of data that was written
	DurationMS float64 `json:"duration_ms"` // comparison included
}

// Origin is the checkpoint that an archive was made of: what is kept of it wherever the
// archive is unpacked. Key "origin", written by treediff unpack.
type Origin struct {
	Store     string    `json:"store"`      // the store's name
	Version   int64     `json:"version"`    // 4 for v4
	Message   string    `json:"message"`    //
	CreatedAt time.Time `json:"created_at"` // UTC
	Causality
}

// Packed is what was packed or unpacked. Key "packed", written by treediff pack and
// unpack.
type Packed struct {
	Entries    int64   `json:"entries"` // names in the archive, the root's is one
	Bytes      int64   `json:"bytes"`   // of data in files, without holes
	DurationMS float64 `json:"duration_ms"`
}

// Copied is what bandclone copy did with a checkpoint. Key "copied".
type Copied struct {
	Bands       int64   `json:"bands"`        // in the checkpoint
	CopiedBands int64   `json:"copied_bands"` // of them, copied; the others are links to those of an earlier one
	Bytes       int64   `json:"bytes"`        // of data that was written
	DurationMS  float64 `json:"duration_ms"`
}

// Lines are lines of a file that have one origin. Key "lines", written by treediff
// blame.
type Lines struct {
	First int `json:"first"` // counted from 1
	Last  int `json:"last"`  // included
}

// Record is one JSON object with its keys in the order in which they arrived.
type Record struct {
	keys   []string
	values map[string]json.RawMessage
}

// New makes an empty record.
func New() *Record { return &Record{values: map[string]json.RawMessage{}} }

// Read reads one record. The end of the input instead of a record is an error:
// the stage before has failed and said why.
func Read(r io.Reader) (*Record, error) {
	return decode(json.NewDecoder(r))
}

func decode(dec *json.Decoder) (*Record, error) {
	rec := New()
	if err := dec.Decode(rec); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("no record on standard input: %w", io.EOF)
	} else if err != nil {
		return nil, fmt.Errorf("bad record on standard input: %w", err)
	}
	return rec, nil
}

// Input gives the record that a verb works on: an empty one where its flags and
// arguments tell it all (standard input is then left alone), else the one on
// standard input. An interrupt ends the wait for it.
func Input(ctx context.Context, r io.Reader, told bool) (*Record, error) {
	if told {
		return New(), nil
	}
	return await(ctx, func() (*Record, error) { return Read(r) })
}

// InputAll gives the list on standard input. An interrupt ends the wait for it.
func InputAll(ctx context.Context, r io.Reader) ([]*Record, error) {
	return await(ctx, func() ([]*Record, error) { return ReadAll(r) })
}

// await calls read, and leaves it alone when the context ends.
func await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// ReadAll reads a list: one record a line, to the end of the input. No record
// at all is an empty list.
func ReadAll(r io.Reader) ([]*Record, error) {
	list := []*Record{}
	for dec := json.NewDecoder(r); ; {
		rec, err := decode(dec)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, rec)
	}
}

// Write writes the record as one line.
func (rec *Record) Write(w io.Writer) error {
	line, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Has tells whether the record has the key.
func (rec *Record) Has(key string) bool {
	_, ok := rec.values[key]
	return ok
}

// Get decodes the value of a key. A missing key is an error that names it.
func (rec *Record) Get(key string, into any) error {
	raw, ok := rec.values[key]
	if !ok {
		return status.Errorf(status.General, "record has no %q", key)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("record: %q: %w", key, err)
	}
	return nil
}

// Without gives the record without a key.
func (rec *Record) Without(key string) *Record {
	rest := &Record{keys: slices.Clone(rec.keys), values: maps.Clone(rec.values)}
	rest.keys = slices.DeleteFunc(rest.keys, func(k string) bool { return k == key })
	delete(rest.values, key)
	return rest
}

// Set puts value under key. Where both the old and the new value are objects,
// the fields of the old one that the new one's type does not have are kept:
// a field left out because it is empty does not come back from the old value.
func (rec *Record) Set(key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if _, ok := rec.values[key]; !ok {
		rec.keys = append(rec.keys, key)
	}
	rec.values[key] = merge(rec.values[key], raw, fieldNames(value))
	return nil
}

// fieldNames gives the JSON names of a struct's fields, none for other types.
func fieldNames(value any) []string {
	t := reflect.TypeOf(value)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous { // the fields of one that is embedded follow it
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

func merge(old, fresh json.RawMessage, known []string) json.RawMessage {
	a, b := New(), New()
	if json.Unmarshal(old, a) != nil || json.Unmarshal(fresh, b) != nil {
		return fresh
	}
	a.keys = slices.DeleteFunc(a.keys, func(k string) bool {
		return slices.Contains(known, k) && !b.Has(k)
	})
	for _, k := range b.keys {
		if !a.Has(k) {
			a.keys = append(a.keys, k)
		}
		a.values[k] = b.values[k]
	}
	out, err := json.Marshal(a)
	if err != nil {
		return fresh
	}
	return out
}

// UnmarshalJSON keeps the order of the keys and the exact text of the values.
func (rec *Record) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("want a JSON object, have %v", t)
	}
	*rec = *New()
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		name := key.(string) // between braces the decoder yields nothing else
		if !rec.Has(name) {
			rec.keys = append(rec.keys, name)
		}
		rec.values[name] = raw
	}
	_, err := dec.Token()
	return err
}

// MarshalJSON writes the keys in their order.
func (rec *Record) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range rec.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(rec.values[k])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
