module agentfs.internal/agentfs

go 1.26

require (
	agentfs.internal/tool v0.0.0
	github.com/peterbourgon/ff/v3 v3.4.0
	github.com/rogpeppe/go-internal v1.16.0
)

require (
	github.com/pelletier/go-toml v1.9.5 // indirect
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)

replace agentfs.internal/tool => ../tool
