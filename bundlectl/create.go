package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"agentfs.internal/bundlectl/engine"
	"agentfs.internal/tool/command"
	"agentfs.internal/tool/record"
	"agentfs.internal/tool/size"
	"agentfs.internal/tool/status"
)

func createVerb() *command.Verb {
	var sizeText, bandText, owner, volname, like string
	return imageVerb(command.Verb{
		Name:  "create",
		Short: "make a bundle with an empty filesystem in it",
		Long: `The bundle appears complete or not at all. Its size is that of the image, not of
the space that it takes: that grows with what is written.

--like makes an image of the size and the band size of another bundle's, with
nothing in it, not even a filesystem: for bands that are put in from elsewhere.

In: "store" (bundle_path, size_bytes, name). Out: "image".`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&sizeText, "size", "", "`size` of the image, as in 50G")
			fs.StringVar(&bandText, "band-size", "", "`size` of a band (default: by what the host's filesystem can do)")
			fs.StringVar(&owner, "owner", "", "`uid:gid` of the root directory (default: the caller's)")
			fs.StringVar(&volname, "volname", "", "`name` of the volume (default: the bundle's)")
			fs.StringVar(&like, "like", "", "make it empty, of the sizes of this `BUNDLE`")
		},
	}, func(ctx context.Context, e engine.Engine, in *input) (*record.Image, error) {
		if like != "" {
			if sizeText+bandText+owner+volname != "" {
				return nil, status.Errorf(status.Usage, "create: --like stands alone")
			}
			return createLike(in.bundle, like)
		}
		p := engine.CreateParams{Size: in.store.SizeBytes, VolName: volname}
		for _, s := range []struct {
			text string
			into *int64
		}{{sizeText, &p.Size}, {bandText, &p.BandSize}} {
			if err := parseSize(s.text, s.into); err != nil {
				return nil, err
			}
		}
		var err error
		if p.UID, p.GID, err = parseOwner(owner); err != nil {
			return nil, err
		}
		if p.Size == 0 {
			return nil, status.Errorf(status.Usage, "create: no size").WithHint("--size 50G")
		}
		return e.Create(ctx, in.bundle, p)
	})
}

func parseSize(text string, into *int64) error {
	if text == "" {
		return nil
	}
	n, err := size.Parse(text)
	if err != nil {
		return status.Errorf(status.Usage, "%w", err)
	}
	*into = n
	return nil
}

// parseOwner reads "uid:gid"; nothing means the caller, who behind sudo is the
// user that sudo names.
func parseOwner(text string) (uid, gid int, err error) {
	if text == "" {
		return envID("SUDO_UID", os.Getuid()), envID("SUDO_GID", os.Getgid()), nil
	}
	u, g, ok := strings.Cut(text, ":")
	if uid, err = strconv.Atoi(u); err == nil && ok {
		gid, err = strconv.Atoi(g)
	}
	if err != nil || !ok || uid < 0 || gid < 0 {
		return 0, 0, status.Errorf(status.Usage, "bad owner %q: want uid:gid in numbers", text)
	}
	return uid, gid, nil
}

func envID(name string, otherwise int) int {
	var id int
	if _, err := fmt.Sscanf(os.Getenv(name), "%d", &id); err != nil {
		return otherwise
	}
	return id
}
