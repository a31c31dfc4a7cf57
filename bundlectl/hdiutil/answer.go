package hdiutil

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"agentfs.internal/bundlectl/bundle"
)

// entity is a disk, slice, container or volume that an attached image makes.
type entity struct {
	Device string `plist:"dev-entry"`    // /dev/disk4, /dev/disk4s1; absent for some volumes
	Hint   string `plist:"content-hint"` // GUID_partition_scheme, Apple_APFS, a UUID …
	Mount  string `plist:"mount-point"`  // only where mounted
}

// disk is an attached image.
type disk struct {
	Path     string   `plist:"image-path"` // as it was given to attach
	Entities []entity `plist:"system-entities"`
}

// parseAttach understands the answer of attach -plist.
func parseAttach(out []byte) (disk, error) {
	var d disk
	return d, decode("attach", out, &d)
}

// parseInfo understands the answer of info -plist: all images of this machine,
// whoever attached them.
func parseInfo(out []byte) ([]disk, error) {
	var answer struct {
		Images []disk `plist:"images"`
	}
	return answer.Images, decode("info", out, &answer)
}

// decode reads the property list in out; warnings may stand before it.
func decode(verb string, out []byte, v any) error {
	i := bytes.Index(out, []byte("<?xml"))
	if i < 0 {
		return fmt.Errorf("%s %s -plist: answer without a property list: %.80q", program, verb, out)
	}
	if err := bundle.DecodePlist(out[i:], v); err != nil {
		return fmt.Errorf("%s %s -plist: %w", program, verb, err)
	}
	return nil
}

// volume is the entity that is mounted. The order of the entities says nothing.
func (d disk) volume() (entity, error) {
	for _, e := range d.Entities {
		if e.Mount != "" {
			return e, nil
		}
	}
	return entity{}, errors.New("no volume of it is mounted")
}

var wholeDisk = regexp.MustCompile(`^/dev/disk[0-9]+$`)

// device is what to detach: the disk that stands for the whole image, rather than
// a slice of it or the container that APFS makes up inside.
func (d disk) device() string {
	best := ""
	for _, e := range d.Entities {
		switch {
		case strings.HasSuffix(e.Hint, "partition_scheme") && e.Device != "":
			return e.Device
		case wholeDisk.MatchString(e.Device) && (best == "" || lower(e.Device, best)):
			best = e.Device // the container comes after its disk
		}
	}
	return best
}

// lower tells whether disk a has a lower number than disk b.
func lower(a, b string) bool {
	return len(a) < len(b) || len(a) == len(b) && a < b
}

// node is the device of the record: the volume's while mounted, else the disk's.
func (d disk) node() string {
	if v, err := d.volume(); err == nil && v.Device != "" {
		return v.Device
	}
	return d.device()
}
