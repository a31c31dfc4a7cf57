module agentfs.internal/bundlectl

go 1.26.0

require (
	agentfs.internal/tool v0.0.0
	github.com/hanwen/go-fuse/v2 v2.12.1
	github.com/moby/sys/mountinfo v0.7.3
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.49.0
	howett.net/plist v1.0.1
)

require (
	github.com/peterbourgon/ff/v3 v3.4.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)

replace agentfs.internal/tool => ../tool
