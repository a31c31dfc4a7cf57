package standin

import (
	"embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"
)

//go:embed answers
var answers embed.FS

var templates = template.Must(template.ParseFS(answers, "answers/*.plist"))

// entity is what the templates show of a disk; empty fields are left out.
type entity struct {
	Device, Hint, Mount string
}

// image is an attached image in the answer of info.
type image struct {
	Path     string
	Entities []entity
}

// answer prints the property list of a verb.
func (p *program) answer(verb string, data any) {
	if warning := os.Getenv("HDIUTIL_WARN"); warning != "" {
		fmt.Println(warning)
	}
	check(templates.ExecuteTemplate(os.Stdout, verb+".plist", data))
}

// entities are those of an image with a partition map and an APFS container: the
// disk, its slice, the container that appears as a disk of its own, its volume.
func (p *program) entities(d attached) []entity {
	list := []entity{
		{Device: fmt.Sprintf("/dev/disk%d", d.Number), Hint: "GUID_partition_scheme"},
		{Device: fmt.Sprintf("/dev/disk%ds1", d.Number), Hint: "Apple_APFS"},
		{Device: fmt.Sprintf("/dev/disk%d", d.Number+1), Hint: "EF57347C-0000-11AA-AA11-00306543ECAC"},
		{Device: fmt.Sprintf("/dev/disk%ds1", d.Number+1), Hint: "41504653-0000-11AA-AA11-00306543ECAC", Mount: private(d.Mount)},
	}
	if os.Getenv("HDIUTIL_ORDER") == "reverse" {
		slices.Reverse(list)
	}
	return list
}

func private(path string) string {
	if path == "" || os.Getenv("HDIUTIL_PRIVATE") == "" || strings.HasPrefix(path, "/private/") {
		return path
	}
	return "/private" + path
}

func (p *program) info() {
	list := []image{}
	if os.Getenv("HDIUTIL_FOREIGN") != "" {
		list = append(list, foreign...)
	}
	for _, d := range p.state.Disks {
		list = append(list, image{private(d.Path), p.entities(d)})
	}
	p.answer("info", list)
}

// foreign are images of other kinds: a memory disk, a disk image of an
// application, and a backup that is attached without being mounted.
var foreign = []image{
	{"ram://4194304", []entity{{Device: "/dev/disk90"}}},
	{"/Users/someone/Downloads/Other & more.dmg", []entity{
		{Device: "/dev/disk91", Hint: "GUID_partition_scheme"},
		{Device: "/dev/disk91s1", Hint: "48465300-0000-11AA-AA11-00306543ECAC", Mount: "/Volumes/Other"},
	}},
	{"/Volumes/Backups/mac.backupbundle", []entity{
		{Device: "/dev/disk92", Hint: "GUID_partition_scheme"},
	}},
}
