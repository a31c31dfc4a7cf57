package trees

import (
	"path"
	"slices"
	"strings"

	"agentfs.internal/tool/status"
)

// CleanPaths brings the paths of a restriction into the form that Pair wants:
// relative to the root, sorted, and none that is below another. Of one that leads
// out of the tree the error is a usage error.
func CleanPaths(paths []string) ([]string, error) {
	var list []string
	for _, p := range paths {
		clean := path.Clean(p)
		if p == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
			return nil, status.Errorf(status.Usage, "%q: not a path below the trees' roots", p)
		}
		if clean == "." {
			return nil, nil
		}
		list = append(list, clean)
	}
	slices.SortFunc(list, ComparePaths)
	var out []string
	for _, p := range list {
		if n := len(out); n == 0 || p != out[n-1] && !IsBelow(p, out[n-1]) {
			out = append(out, p)
		}
	}
	return out, nil
}
