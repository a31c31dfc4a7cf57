module agentfs.internal/cpdb

go 1.26

require agentfs.internal/tool v0.0.0

require (
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)

require (
	github.com/mattn/go-sqlite3 v1.14.52
	github.com/peterbourgon/ff/v3 v3.4.0 // indirect
)

replace agentfs.internal/tool => ../tool
