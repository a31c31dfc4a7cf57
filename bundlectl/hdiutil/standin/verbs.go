package standin

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agentfs.internal/bundlectl/bundle"
)

// flag gives the word after a flag, "" without it.
func (p *program) flag(name string) string {
	if i := slices.Index(p.args, name); i >= 0 && i+1 < len(p.args) {
		return p.args[i+1]
	}
	return ""
}

// path is the argument that names the image: here always the last, or before
// the flag that compact has behind it.
func (p *program) path() string {
	args := slices.DeleteFunc(slices.Clone(p.args), func(s string) bool { return s == "-batteryallowed" })
	return args[len(args)-1]
}

func (p *program) size() int64 {
	n, ok := strings.CutSuffix(p.flag("-size"), "m")
	v, err := strconv.ParseInt(n, 10, 64)
	if !ok || err != nil {
		panic(fail{1, p.args[0] + " failed - Invalid argument"})
	}
	return v << 20
}

func (p *program) create() {
	path := p.path()
	if !strings.HasSuffix(path, bundle.Suffix) {
		path += bundle.Suffix
	}
	if _, err := os.Lstat(path); err == nil {
		panic(fail{17, "create failed - File exists"})
	}
	sectors, err := strconv.ParseInt(strings.TrimPrefix(p.flag("-imagekey"), "sparse-band-size="), 10, 64)
	check(err)
	check(bundle.Write(path, bundle.Info{BandSize: sectors * 512, Size: p.size()}))
	for _, name := range []string{"0", "1", "a"} {
		check(os.WriteFile(filepath.Join(path, "bands", name), bytes.Repeat([]byte(name), 4096), 0o600))
	}
	if os.Getenv("HDIUTIL_VERSION2") != "" {
		makeVersion2(filepath.Join(path, "Info.plist"))
	}
	p.answer("create", path)
}

func makeVersion2(info string) {
	data, err := os.ReadFile(info)
	check(err)
	check(os.WriteFile(info, bytes.Replace(data, []byte(">1<"), []byte(">2<"), 1), 0o600))
}

// attach attaches an image, or answers for one that is attached already.
func (p *program) attach() {
	d := p.find(p.path())
	if d == nil {
		p.state.Disks = append(p.state.Disks, attached{Path: p.path(), Number: p.state.Next})
		p.state.Next += 2
		d = &p.state.Disks[len(p.state.Disks)-1]
	}
	if d.Mount == "" && os.Getenv("HDIUTIL_NOMOUNT") == "" {
		d.Mount = p.flag("-mountpoint")
		if at := os.Getenv("HDIUTIL_MOUNTS_AT"); at != "" {
			d.Mount = at
		}
	}
	p.answer("attach", p.entities(*d))
}

// find looks for what is attached by image, mountpoint or disk.
func (p *program) find(name string) *attached {
	for i := range p.state.Disks {
		d := &p.state.Disks[i]
		names := []string{d.Path, "/private" + d.Path, "/dev/disk" + strconv.Itoa(d.Number)}
		if slices.Contains(names, name) || d.Mount != "" && name == d.Mount {
			return d
		}
	}
	return nil
}

func (p *program) detach() {
	d := p.find(p.path())
	if d == nil {
		panic(fail{1, "detach failed - No such file or directory"})
	}
	number := d.Number
	p.state.Disks = slices.DeleteFunc(p.state.Disks, func(d attached) bool { return d.Number == number })
	os.Stdout.WriteString("\"disk" + strconv.Itoa(number) + "\" ejected.\n")
}

func (p *program) compact() {
	p.idle()
	os.Stdout.WriteString("Starting to compact…\nReclaimed 0 bytes out of 0 bytes possible.\n")
}

func (p *program) resize() {
	p.idle()
	b, err := bundle.Open(p.path())
	check(err)
	check(b.SetSize(p.size()))
}

// idle refuses an image that is attached.
func (p *program) idle() {
	if p.find(p.path()) != nil {
		panic(fail{35, p.args[0] + " failed - Resource temporarily unavailable"})
	}
}
