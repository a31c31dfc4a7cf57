module agentfs.internal/agentfs

go 1.26

require (
	agentfs.internal/tool v0.0.0
	github.com/pelletier/go-toml/v2 v2.4.3
	github.com/rogpeppe/go-internal v1.16.0
)

require (
	github.com/peterbourgon/ff/v3 v3.4.0 // indirect
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)

replace agentfs.internal/tool => ../tool
