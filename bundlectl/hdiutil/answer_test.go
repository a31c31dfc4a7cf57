package hdiutil

import (
	"errors"
	"os"
	"testing"
)

func TestDevice(t *testing.T) {
	for name, tt := range map[string]struct {
		entities     []entity
		device, node string
	}{
		"nothing": {nil, "", ""},
		"apfs, container first": {[]entity{
			{Device: "/dev/disk10s1", Mount: "/m"}, {Device: "/dev/disk10"}, {Device: "/dev/disk9s1"}, {Device: "/dev/disk9"},
		}, "/dev/disk9", "/dev/disk10s1"},
		"scheme named": {[]entity{
			{Device: "/dev/disk3"}, {Device: "/dev/disk8", Hint: "GUID_partition_scheme"},
		}, "/dev/disk8", "/dev/disk8"},
		"volume without a device": {[]entity{
			{Mount: "/m"}, {Device: "/dev/disk4"},
		}, "/dev/disk4", "/dev/disk4"},
	} {
		d := disk{Entities: tt.entities}
		if got := d.device(); got != tt.device {
			t.Errorf("%s: device %q, want %q", name, got, tt.device)
		}
		if got := d.node(); got != tt.node {
			t.Errorf("%s: node %q, want %q", name, got, tt.node)
		}
	}
}

func TestWords(t *testing.T) {
	err := errors.New("exit status 1")
	for talk, want := range map[string]string{
		"": "hdiutil: exit status 1",
		"hdiutil: attach failed - no mountable file systems\n":          "hdiutil: attach failed - no mountable file systems",
		"hdiutil: detach: warning\nhdiutil: couldn't eject \"disk4\"\n": "hdiutil: couldn't eject \"disk4\"",
		"hdiutil: attach failed - Resource busy\nsome helper says\n\n":  "hdiutil: attach failed - Resource busy",
		"load_info: something\n":                                        "hdiutil: load_info: something",
	} {
		if got := words(talk, err); got != want {
			t.Errorf("words(%q) = %q, want %q", talk, got, want)
		}
	}
}

func TestShell(t *testing.T) {
	for path, want := range map[string]string{
		"/mnt/w": "/mnt/w", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "/$HOME": "'/$HOME'", "": "''",
	} {
		if got := shell(path); got != want {
			t.Errorf("shell(%q) = %s, want %s", path, got, want)
		}
	}
}

func TestSamePath(t *testing.T) {
	dir := t.TempDir()
	link := dir + "/link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"/tmp/none/x", "/private/tmp/none/x", true},
		{"/tmp/none/x/", "/tmp/none/x", true},
		{dir, link, true},
		{dir, dir + "/none", false},
		{"/tmp/none/x", "/tmp/none/y", false},
		{"/privately", "/ly", false},
	} {
		if got := samePath(tt.a, tt.b); got != tt.want {
			t.Errorf("samePath(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, out := range []string{
		"", "hdiutil: no", "<?xml version=\"1.0\"?>", "<?xml?><plist><string>x</string></plist>",
		`<?xml version="1.0"?><plist><dict><key>system-entities</key><string/></dict></plist>`,
		`<?xml version="1.0"?><plist><dict><key>system-entities</key><array><dict>`,
	} {
		if d, err := parseAttach([]byte(out)); err == nil {
			t.Errorf("parseAttach(%q) = %+v, want an error", out, d)
		}
	}
	none := `<?xml version="1.0"?><plist version="1.0"><dict><key>images</key><array/></dict></plist>`
	if list, err := parseInfo([]byte(none)); err != nil || len(list) != 0 {
		t.Errorf("nothing attached: %v, %v", list, err)
	}
}

func FuzzParseAttach(f *testing.F) {
	f.Fuzz(func(t *testing.T, out []byte) {
		d, err := parseAttach(out)
		if err != nil {
			return
		}
		checkDisk(t, d)
	})
}

func FuzzParseInfo(f *testing.F) {
	f.Fuzz(func(t *testing.T, out []byte) {
		list, err := parseInfo(out)
		if err != nil {
			return
		}
		for _, d := range list {
			checkDisk(t, d)
		}
	})
}

// checkDisk holds what the driver does with a disk to what it was told of it.
func checkDisk(t *testing.T, d disk) {
	known := map[string]bool{"": true}
	for _, e := range d.Entities {
		known[e.Device] = true
	}
	if !known[d.device()] || !known[d.node()] {
		t.Errorf("device %q, node %q of %+v", d.device(), d.node(), d)
	}
	if v, err := d.volume(); (err == nil) != (v.Mount != "") {
		t.Errorf("volume %+v, %v", v, err)
	}
}
