module agentfs.internal/treediff

go 1.26.0

require (
	agentfs.internal/tool v0.0.0-00010101000000-000000000000
	github.com/klauspost/compress v1.20.3
	github.com/pmezard/go-difflib v1.0.0
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/peterbourgon/ff/v3 v3.4.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)

replace agentfs.internal/tool => ../tool
