module agentfs.internal/testscripts

go 1.26.0

require (
	agentfs.internal/tool v0.0.0
	github.com/hanwen/go-fuse/v2 v2.12.1
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.49.0
)

require golang.org/x/tools v0.26.0 // indirect

replace agentfs.internal/tool => ../tool
